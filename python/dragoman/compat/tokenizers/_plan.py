"""Encodings as plans: which tokens of which sources follow one another.

Truncation, templates and padding only rearrange tokens. A plan records the result, and a column (ids, offsets, ...) is
computed when it is read. Overflowing parts are plans too.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Protocol, Sequence

Offset = tuple[int, int]
#: One pass of trimming: (whether a space was added in front of the text, the index of the first token).
Trim = tuple[bool, int]

#: The spelling of a space in GPT-2's byte alphabet.
BYTE_SPACE = "\u0120"


class Source(Protocol):
    """Tokens that plans refer to, in columns."""

    def column(self, name: str, start: int, stop: int) -> list[Any]:
        """Return part of a column: ids, tokens, offsets, words, special, attention or type_ids."""


class SpecialTokens:
    """The tokens that a post-processor or padding adds."""

    __slots__ = ("ids", "tokens", "attention")

    def __init__(self, ids: Sequence[int], tokens: Sequence[str], attention: int = 1) -> None:
        self.ids = list(ids)
        self.tokens = list(tokens)
        self.attention = attention

    def column(self, name: str, start: int, stop: int) -> list[Any]:
        if name == "ids":
            return self.ids[start:stop]
        if name == "tokens":
            return self.tokens[start:stop]
        value: Any = {"offsets": (0, 0), "words": None, "special": 1, "attention": self.attention, "type_ids": 0}[name]
        return [value] * (stop - start)


class Padding:
    """A source of any number of padding tokens."""

    __slots__ = ("id", "token")

    def __init__(self, id: int, token: str) -> None:
        self.id = id
        self.token = token

    def column(self, name: str, start: int, stop: int) -> list[Any]:
        values: dict[str, Any] = {"ids": self.id, "tokens": self.token, "offsets": (0, 0), "words": None, "special": 1}
        return [values.get(name, 0)] * (stop - start)


class Columns:
    """Tokens whose columns are known."""

    __slots__ = ("columns",)

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def column(self, name: str, start: int, stop: int) -> list[Any]:
        return self.columns[name][start:stop]


class Segment(NamedTuple):
    """The tokens [start, stop) of a source."""

    source: Source
    start: int
    stop: int
    #: None: those of the source.
    type_id: Optional[int] = None
    trims: tuple[Trim, ...] = ()
    #: Added to all offsets.
    shift: int = 0

    def column(self, name: str) -> list[Any]:
        if name == "type_ids" and self.type_id is not None:
            return [self.type_id] * (self.stop - self.start)
        values = self.source.column(name, self.start, self.stop)
        if name != "offsets" or not (self.trims or self.shift):
            return values
        if self.trims:
            tokens = self.source.column("tokens", self.start, self.stop)
            for prefix, first in self.trims:
                values = [
                    trimmed(token, offset, prefix, i == first)
                    for i, (token, offset) in enumerate(zip(tokens, values), self.start)
                ]
        return [(begin + self.shift, end + self.shift) for begin, end in values]


def is_space(character: str) -> bool:
    return character == BYTE_SPACE or (character.isspace() and not "\x1c" <= character <= "\x1f")


def trimmed(token: str, offset: Offset, prefix: bool, first: bool) -> Offset:
    """Return the offsets without the spaces at both ends of a token."""
    leading = trailing = 0
    while leading < len(token) and is_space(token[leading]):
        leading += 1
    while trailing < len(token) and is_space(token[-1 - trailing]):
        trailing += 1
    begin, end = offset
    if leading > 0:
        if leading == 1 and prefix and (first or begin == 0):
            leading = 0  # it was added; several are of the text
        begin = min(begin + leading, end)
    if trailing > 0 and end >= trailing:
        end = max(end - trailing, begin)
    return begin, end


class Plan:
    """Segments in order, the ranges of sequences, and the plans of overflowing parts."""

    __slots__ = ("segments", "ranges", "overflowing")

    def __init__(
        self,
        segments: Sequence[Segment] = (),
        ranges: dict[int, tuple[int, int]] | None = None,
        overflowing: list[Plan] | None = None,
    ) -> None:
        self.segments = list(segments)
        self.ranges = {} if ranges is None else ranges
        self.overflowing = [] if overflowing is None else overflowing

    def __len__(self) -> int:
        return sum(segment.stop - segment.start for segment in self.segments)

    def column(self, name: str) -> list[Any]:
        if len(self.segments) == 1:
            return self.segments[0].column(name)
        values: list[Any] = []
        for segment in self.segments:
            values += segment.column(name)
        return values

    def copy(self) -> Plan:
        return Plan(self.segments, dict(self.ranges), [each.copy() for each in self.overflowing])

    def part(self, start: int, stop: int) -> Plan:
        """Return the tokens [start, stop), without ranges."""
        segments = []
        at = 0
        for segment in self.segments:
            begin, end = max(start - at, 0), min(stop - at, segment.stop - segment.start)
            if begin < end:
                segments.append(segment._replace(start=segment.start + begin, stop=segment.start + end))
            at += segment.stop - segment.start
        return Plan(segments)

    def set_sequence(self, index: int) -> None:
        self.ranges[index] = (0, len(self))

    def set_type(self, type_id: int) -> None:
        self.segments = [segment._replace(type_id=type_id) for segment in self.segments]

    def trim(self, prefix: bool) -> None:
        """Trim the offsets of all tokens, as a ByteLevel post-processor does."""
        self.segments = [
            segment._replace(trims=(*segment.trims, (prefix, segment.start if i == 0 else -1)))
            for i, segment in enumerate(self.segments)
        ]

    def truncate(self, length: int, stride: int, left: bool) -> None:
        """Keep `length` tokens. The others become overflowing parts; neighbouring parts share `stride` tokens."""
        size = len(self)
        if length >= size:
            return
        if length == 0:
            self.overflowing = [*self.overflowing, Plan(self.segments, self.ranges)]
            self.segments, self.ranges = [], {}
            return
        check_stride(stride, length)
        parts = [self.part(start, stop) for start, stop in cuts(size, length, stride, left)]
        self.segments, self.ranges, self.overflowing = parts[0].segments, {}, parts[1:]

    def pad(self, length: int, padding: Padding, type_id: int, left: bool) -> None:
        for part in self.overflowing:
            part.pad(length, padding, type_id, left)
        missing = length - len(self)
        if missing <= 0:
            return
        segment = Segment(padding, 0, missing, type_id)
        if left:
            self.segments = [segment, *self.segments]
            self.ranges = {i: (begin + missing, end + missing) for i, (begin, end) in self.ranges.items()}
        else:
            self.segments = [*self.segments, segment]

    def append(self, other: Plan, growing_offsets: bool = False) -> None:
        """Append another plan. Each overflowing part of one is joined with the other, and with its overflowing parts."""
        overflowing: list[Plan] = []
        for part in self.overflowing:
            for end in (other, *other.overflowing):
                overflowing.append(joined(part, end, growing_offsets))
        for end in other.overflowing:
            overflowing.append(joined(self, end, growing_offsets))
        size = len(self)
        for index, (start, stop) in other.ranges.items():
            self.ranges[index] = (size + start, size + stop)
        added = other.segments
        if growing_offsets and size > 0:
            shift = self.part(size - 1, size).column("offsets")[0][1]
            added = [segment._replace(shift=segment.shift + shift) for segment in added]
        self.segments = [*self.segments, *added]
        self.overflowing = overflowing


def joined(first: Plan, second: Plan, growing_offsets: bool) -> Plan:
    plan = first.copy()
    plan.append(second, growing_offsets)
    return plan


def cuts(size: int, length: int, stride: int, left: bool) -> list[Offset]:
    """Return the parts into which a text of `size` tokens is cut, the one to keep first."""
    step = length - stride
    ranges = []
    if left:
        for stop in range(size, 0, -step):
            ranges.append((max(stop - length, 0), stop))
            if stop <= length:
                break
    else:
        for start in range(0, size, step):
            ranges.append((start, min(start + length, size)))
            if start + length >= size:
                break
    return ranges


def check_stride(stride: int, length: int) -> None:
    if stride >= length:
        raise ValueError(
            f"`stride` must be strictly less than `max_len={length}` (note that `max_len` may be shorter than the max "
            "length of the original model, as it subtracts the number of special characters)"
        )


