"""What post-processors do with plans, and truncation and padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Optional, Protocol, Sequence

from ._plan import Padding, Plan, Segment, SpecialTokens, check_stride

TokenAndId = tuple[str, int]


class Step(Protocol):
    """A part of a post-processor."""

    def added(self, is_pair: bool) -> int:
        """Return the number of tokens that the step adds."""

    def run(self, plans: list[Plan], add_special_tokens: bool) -> list[Plan]:
        """Return the plans of which the result consists. The given ones may be changed."""


def each_part(plan: Plan) -> list[Plan]:
    """Return a plan and its overflowing parts."""
    return [plan, *plan.overflowing]


class TrimOffsets:
    """Leaves spaces at the ends of tokens out of offsets. `prefix` is None: offsets remain."""

    def __init__(self, prefix: Optional[bool], sets_sequences: bool) -> None:
        self.prefix = prefix
        self.sets_sequences = sets_sequences

    def added(self, is_pair: bool) -> int:
        return 0

    def run(self, plans: list[Plan], add_special_tokens: bool) -> list[Plan]:
        for index, plan in enumerate(plans):
            if self.prefix is not None:
                for part in each_part(plan):
                    part.trim(self.prefix)
            if self.sets_sequences:
                plan.set_sequence(index)
        return plans


class Bert:
    """[CLS] A [SEP] B [SEP]; the type ids are those of the texts."""

    pair_types = (0, 1)

    def __init__(self, sep: TokenAndId, cls: TokenAndId) -> None:
        self.sep = SpecialTokens([sep[1]], [sep[0]])
        self.cls = SpecialTokens([cls[1]], [cls[0]])

    def added(self, is_pair: bool) -> int:
        return 3 if is_pair else 2

    def run(self, plans: list[Plan], add_special_tokens: bool) -> list[Plan]:
        if not add_special_tokens:
            return plans
        for index, plan in enumerate(plans):
            for part in each_part(plan):
                self.surround(part, index)
        return plans

    def surround(self, part: Plan, index: int) -> None:
        size = len(part)
        behind = Segment(self.sep, 0, 1, index)
        in_front = [Segment(self.cls, 0, 1, 0)] if index == 0 else []
        part.segments = [*in_front, *part.segments, behind]
        part.ranges = {index: (len(in_front), len(in_front) + size)}


class Roberta(Bert):
    """<s> A </s></s> B </s>; all type ids are 0."""

    def added(self, is_pair: bool) -> int:
        return 4 if is_pair else 2

    def run(self, plans: list[Plan], add_special_tokens: bool) -> list[Plan]:
        for plan in plans:
            plan.set_type(0)
        return super().run(plans, add_special_tokens)

    def surround(self, part: Plan, index: int) -> None:
        size = len(part)
        part.set_type(0)
        first = Segment(self.cls if index == 0 else self.sep, 0, 1, 0)
        part.segments = [first, *part.segments, Segment(self.sep, 0, 1, 0)]
        part.ranges = {index: (1, 1 + size)}


class Template:
    """Any order of texts and special tokens."""

    def __init__(self, single: list[Any], pair: list[Any], tokens: dict[str, Any]) -> None:
        self.tokens = {name: SpecialTokens(token["ids"], token["tokens"]) for name, token in tokens.items()}
        self.single = list(single)
        self.pair = list(pair)

    def added(self, is_pair: bool) -> int:
        pieces = self.pair if is_pair else self.single
        return sum(len(self.tokens[piece["SpecialToken"]["id"]].ids) for piece in pieces if "SpecialToken" in piece)

    def run(self, plans: list[Plan], add_special_tokens: bool) -> list[Plan]:
        made = []
        for piece in self.pair if len(plans) == 2 else self.single:
            if "Sequence" in piece:
                index = 0 if piece["Sequence"]["id"] == "A" else 1
                plans[index].set_type(piece["Sequence"]["type_id"])
                plans[index].set_sequence(index)
                made.append(plans[index].copy())
            elif add_special_tokens:
                tokens = self.tokens[piece["SpecialToken"]["id"]]
                made.append(Plan([Segment(tokens, 0, len(tokens.ids), piece["SpecialToken"]["type_id"])]))
        return made


def added_tokens(steps: Sequence[Step], is_pair: bool) -> int:
    return sum(step.added(is_pair) for step in steps)


def processed(steps: Optional[Sequence[Step]], plans: list[Plan], add_special_tokens: bool) -> Plan:
    """Return the plan of a text or a pair. `steps` is None without a post-processor."""
    if steps is None:
        if len(plans) == 1:
            return plans[0]
        for index, plan in enumerate(plans):
            plan.set_sequence(index)
    else:
        for index, plan in enumerate(plans):
            for part in each_part(plan):
                part.set_sequence(index)
            plan.set_type(index)
        for step in steps:
            plans = step.run(plans, add_special_tokens)
    whole = Plan()
    for plan in plans:
        whole.append(plan)
    return whole


@dataclass(frozen=True)
class Truncation:
    """The parameters of truncation, as a tokenizer shows them."""

    max_length: int
    stride: int = 0
    strategy: Literal["longest_first", "only_first", "only_second"] = "longest_first"
    direction: Literal["left", "right"] = "right"

    @property
    def is_simple(self) -> bool:
        """Whether it cannot fail for a single text."""
        return self.strategy == "longest_first" and self.stride == 0

    def apply(self, plans: list[Plan], room: int) -> None:
        """Cut one or two plans to `room` tokens together."""
        if room <= 0:
            for plan in plans:
                plan.truncate(0, self.stride, self.direction == "left")
            return
        sizes = [len(plan) for plan in plans]
        excess = sum(sizes) - room
        if excess <= 0:
            return
        if self.strategy == "longest_first":
            lengths = [room] if len(plans) == 1 else list(shares(sizes[0], sizes[1], room))
            for plan, length in zip(plans, lengths):
                self.cut(plan, length)
            return
        index = 0 if self.strategy == "only_first" else 1
        if index >= len(plans):
            raise ValueError("Truncation error: Second sequence not provided")
        if sizes[index] <= excess:
            raise ValueError("Truncation error: Sequence to truncate too short to respect the provided max_length")
        self.cut(plans[index], sizes[index] - excess)

    def cut(self, plan: Plan, length: int) -> None:
        if length > 0 and length < len(plan):
            check_stride(self.stride, length)
        plan.truncate(length, self.stride, self.direction == "left")

    def part(self) -> dict[str, Any]:
        strategies = {"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}
        return {
            "direction": self.direction.capitalize(),
            "max_length": self.max_length,
            "strategy": strategies[self.strategy],
            "stride": self.stride,
        }


def shares(first: int, second: int, room: int) -> tuple[int, int]:
    """Return the lengths to which a pair is cut: the longer text is cut first, then both to the same length."""
    shorter, longer = sorted((first, second))
    longer = shorter if shorter > room else max(shorter, room - shorter)
    if shorter + longer > room:
        shorter = room // 2
        longer = shorter + room % 2
    return (longer, shorter) if first > second else (shorter, longer)


@dataclass(frozen=True)
class PaddingOptions:
    """The parameters of padding, as a tokenizer shows them."""

    length: Optional[int] = None
    pad_to_multiple_of: Optional[int] = None
    pad_id: int = 0
    pad_token: str = "[PAD]"
    pad_type_id: int = 0
    direction: Literal["left", "right"] = "right"

    def target(self, longest: int) -> int:
        """Return the length of padded encodings of which the longest has `longest` tokens."""
        length = longest if self.length is None else self.length
        multiple = self.pad_to_multiple_of
        return length + -length % multiple if multiple else length

    def apply(self, plan: Plan, length: int) -> None:
        plan.pad(length, Padding(self.pad_id, self.pad_token), self.pad_type_id, self.direction == "left")

    def part(self) -> dict[str, Any]:
        return {
            "strategy": "BatchLongest" if self.length is None else {"Fixed": self.length},
            "direction": self.direction.capitalize(),
            "pad_to_multiple_of": self.pad_to_multiple_of,
            "pad_id": self.pad_id,
            "pad_type_id": self.pad_type_id,
            "pad_token": self.pad_token,
        }
