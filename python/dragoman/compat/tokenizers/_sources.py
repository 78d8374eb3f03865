"""Texts as sources of plans: ids first, and everything else when it is needed."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from ._encoding import Batch
from ._engine import Details, Engine
from ._plan import Plan, Segment
from ._steps import PaddingOptions, Step, Truncation, added_tokens, processed

Ids = npt.NDArray[np.int32]
#: A text, or the words of one.
Input = Union[str, Sequence[str]]


class Settings:
    """What happens to the tokens of a text. Immutable, so that encodings of different times may share it."""

    __slots__ = ("engine", "steps", "truncation", "padding", "_around")

    def __init__(
        self,
        engine: Engine,
        steps: Optional[tuple[Step, ...]],
        truncation: Optional[Truncation],
        padding: Optional[PaddingOptions],
    ) -> None:
        self.engine = engine
        self.steps = steps
        self.truncation = truncation
        self.padding = padding
        self._around: dict[bool, Optional[tuple[list[int], list[int]]]] = {}

    def room(self, is_pair: bool, add_special_tokens: bool) -> Optional[int]:
        """Return the number of tokens of the texts that truncation keeps; None: all.

        Texts remain whole if the special tokens alone exceed the largest length, as in the package.
        """
        if self.truncation is None:
            return None
        room = self.truncation.max_length
        if add_special_tokens:
            room -= added_tokens(self.steps or (), is_pair)
        return room if room >= 0 else None

    def finish(self, plans: list[Plan], add_special_tokens: bool) -> Plan:
        """Truncate plans and add special tokens."""
        room = self.room(len(plans) == 2, add_special_tokens)
        if self.truncation is not None and room is not None:
            self.truncation.apply(plans, room)
        return processed(self.steps, plans, add_special_tokens)

    def around(self, add_special_tokens: bool) -> Optional[tuple[list[int], list[int]]]:
        """Return the ids before and after those of a single text, or None if the post-processor does more."""
        if add_special_tokens not in self._around:
            self._around[add_special_tokens] = self._find_around(add_special_tokens)
        return self._around[add_special_tokens]

    def _find_around(self, add_special_tokens: bool) -> Optional[tuple[list[int], list[int]]]:
        text = _OneToken()
        segments = processed(self.steps, [Plan([Segment(text, 0, 1, 0)])], add_special_tokens).segments
        places = [i for i, segment in enumerate(segments) if segment.source is text]
        if len(places) != 1:
            return None
        before = [id for segment in segments[: places[0]] for id in segment.column("ids")]
        after = [id for segment in segments[places[0] + 1 :] for id in segment.column("ids")]
        return before, after


class _OneToken:
    """A source of one token, whose columns nobody reads."""

    def column(self, name: str, start: int, stop: int) -> list[Any]:
        return [0] * (stop - start)


class TextSource:
    """The tokens of one text, or of the words of one."""

    __slots__ = ("engine", "text", "_ids", "_details")

    def __init__(self, engine: Engine, text: Input, ids: Optional[Ids] = None) -> None:
        self.engine = engine
        self.text = text
        self._ids = ids
        self._details: Optional[Details] = None

    def __len__(self) -> int:
        return len(self.details()[0] if self._ids is None else self._ids)

    def details(self) -> Details:
        if self._details is None:
            if isinstance(self.text, str):
                self._details = self.engine.details(self.text)
            else:
                self._details = self._details_of_words(self.text)
        return self._details

    def _details_of_words(self, words: Sequence[str]) -> Details:
        whole: Details = ([], [], [], {})
        for index, word in enumerate(words):
            ids, offsets, _, texts = self.engine.details(word)
            whole[3].update({len(whole[0]) + i: text for i, text in texts.items()})
            whole[0].extend(ids)
            whole[1].extend(offsets)
            whole[2].extend([index] * len(ids))
        return whole

    def column(self, name: str, start: int, stop: int) -> list[Any]:
        if name == "ids":
            return self.details()[0][start:stop] if self._ids is None else self._ids[start:stop].tolist()
        if name == "tokens":
            ids, _, _, texts = self.details()
            pieces = self.engine.pieces()
            return [texts.get(i) or pieces[ids[i]] for i in range(start, min(stop, len(ids)))]
        if name == "offsets":
            return self.details()[1][start:stop]
        if name == "words":
            return self.details()[2][start:stop]
        return [1 if name == "attention" else 0] * (stop - start)


class FastSource(TextSource):
    """The tokens of encode_batch_fast: ids alone."""

    __slots__ = ()

    def column(self, name: str, start: int, stop: int) -> list[Any]:
        if name in ("tokens", "offsets", "words"):
            value: Any = {"tokens": "", "offsets": (0, 0), "words": None}[name]
            return [value] * (stop - start)
        return super().column(name, start, stop)


class TextBatch(Batch):
    """The encodings of texts, or of pairs, that were encoded together."""

    __slots__ = (
        "settings",
        "add_special_tokens",
        "source",
        "texts",
        "_ids",
        "_ends",
        "_firsts",
        "_length",
        "_around",
    )

    def __init__(
        self,
        settings: Settings,
        size: int,
        texts: Sequence[Input],
        firsts: Optional[list[int]],
        encoded: Optional[tuple[Ids, list[int]]],
        add_special_tokens: bool,
        fast: bool,
    ) -> None:
        """`firsts`: the index in `texts` of the first text of each input; None if each input is one text."""
        self.settings = settings
        self.add_special_tokens = add_special_tokens
        self.source = FastSource if fast else TextSource
        self.texts = texts
        self._ids: Optional[Ids] = None if encoded is None else encoded[0]
        self._ends: Optional[list[int]] = None if encoded is None else encoded[1]
        self._firsts = firsts
        truncation, padding = settings.truncation, settings.padding
        self._around: Optional[tuple[list[int], list[int]]] = None
        if firsts is None and encoded is not None and truncation is None and padding is None:
            self._around = settings.around(add_special_tokens)
        self._length = 0
        if encoded is None:
            return
        if truncation is not None and not truncation.is_simple:
            for index in range(size):
                self._unpadded(index)  # errors belong to this call
        if padding is not None:
            longest = max((self._unpadded_size(index) for index in range(size)), default=0)
            self._length = padding.target(longest)

    def _sources(self, index: int) -> list[TextSource]:
        if self._firsts is None:
            places = [index]
        else:
            places = list(range(self._firsts[index], self._firsts[index + 1]))
        return [self.source(self.settings.engine, self.texts[i], self._slice(i)) for i in places]

    def _slice(self, text: int) -> Optional[Ids]:
        if self._ids is None or self._ends is None:
            return None
        return self._ids[self._ends[text] : self._ends[text + 1]]

    def _unpadded(self, index: int) -> Plan:
        fast = self.source is FastSource
        plans = [
            Plan([Segment(source, 0, len(source), 0 if fast else i)]) for i, source in enumerate(self._sources(index))
        ]
        return self.settings.finish(plans, self.add_special_tokens)

    def _unpadded_size(self, index: int) -> int:
        settings, around = self.settings, self.settings.around(self.add_special_tokens)
        if self._firsts is not None or self._ends is None or around is None:
            return len(self._unpadded(index))
        size = self._ends[index + 1] - self._ends[index]
        room = settings.room(False, self.add_special_tokens)
        if room is not None:
            size = min(size, room)
        return size + len(around[0]) + len(around[1])

    def plans(self, size: int) -> list[Plan]:
        """Return the plans of all inputs, each text encoded once, for a batch that was not encoded before."""
        plans = [self._unpadded(index) for index in range(size)]
        padding = self.settings.padding
        if padding is not None:
            length = padding.target(max(map(len, plans), default=0))
            for plan in plans:
                padding.apply(plan, length)
        return plans

    def plan(self, index: int) -> Plan:
        plan = self._unpadded(index)
        if self.settings.padding is not None:
            self.settings.padding.apply(plan, self._length)
        return plan

    def ids(self, index: int) -> list[int]:
        if self._around is None or self._ids is None or self._ends is None:
            return self.plan(index).column("ids")
        ids: list[int] = self._ids[self._ends[index] : self._ends[index + 1]].tolist()
        before, after = self._around
        return [*before, *ids, *after] if before or after else ids

    def size(self, index: int) -> int:
        if self._around is None or self._ends is None:
            return len(self.plan(index))
        return self._ends[index + 1] - self._ends[index] + len(self._around[0]) + len(self._around[1])
