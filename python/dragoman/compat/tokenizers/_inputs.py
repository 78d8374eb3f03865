"""The forms in which texts are given."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ._sources import Input

_NO_TEXT = "TextInputSequence must be str"
_NO_WORDS = "PreTokenizedInputSequence must be Union[List[str], Tuple[str]]"
_NO_ITEM = "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"
_NO_WORD_ITEM = (
    "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, Tuple[PreTokenizedInputSequence, "
    "PreTokenizedInputSequence]]"
)


@dataclass
class Texts:
    """Inputs as a list of texts; `firsts` as for TextBatch."""

    texts: list[Input]
    firsts: Optional[list[int]]
    size: int

    def __post_init__(self) -> None:
        #: The texts one after the other, each word of a text of words alone.
        self.flat: list[str] = self.texts  # type: ignore[assignment]
        self._words: Optional[list[int]] = None
        if self.firsts is not None or not set(map(type, self.texts)) <= {str}:
            self.flat, self._words = [], [0]
            for text in self.texts:
                self.flat.extend([text] if isinstance(text, str) else text)
                self._words.append(len(self.flat))

    def ends_of_texts(self, ends: list[int]) -> list[int]:
        """Return where the ids of each text begin, from where those of each element of `flat` do."""
        return ends if self._words is None else [ends[word] for word in self._words]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _is_words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def read_sequence(value: Any, is_pretokenized: bool) -> Input:
    """Return one text, or the words of one."""
    value = _plain(value)
    if not is_pretokenized:
        if not isinstance(value, str):
            raise TypeError(_NO_TEXT)
        return value
    if not _is_words(value):
        raise TypeError(_NO_WORDS)
    return tuple(value)  # a copy, since columns are computed later


def read_inputs(values: Any, is_pretokenized: bool) -> Texts:
    """Return the texts and pairs of a batch."""
    values = _plain(values)
    if isinstance(values, (str, bytes)):
        raise TypeError("Can't extract `str` to `Vec`")
    if not isinstance(values, (list, tuple)):
        if not hasattr(values, "__len__") or not hasattr(values, "__getitem__"):
            raise TypeError(f"'{type(values).__name__}' object is not an instance of 'Sequence'")
        values = list(values)
    if not is_pretokenized and set(map(type, values)) <= {str}:
        return Texts(list(values), None, len(values))
    texts: list[Input] = []
    firsts = [0]
    for value in map(_plain, values):
        texts.extend(_item(value, is_pretokenized))
        firsts.append(len(texts))
    return Texts(texts, firsts, len(values))


def _item(value: Any, is_pretokenized: bool) -> list[Input]:
    if not is_pretokenized:
        if isinstance(value, str):
            return [value]
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            raise TypeError(_NO_ITEM)
        return [read_sequence(each, False) for each in value]
    if _is_words(value):
        return [tuple(value)]
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise TypeError(_NO_WORD_ITEM)
    return [read_sequence(each, True) for each in value]


def threads() -> int:
    """Return the number of threads for a batch; 0 stands for all. TOKENIZERS_PARALLELISM may forbid more than one."""
    wish = os.environ.get("TOKENIZERS_PARALLELISM", "true").lower()
    return 1 if wish in ("", "off", "false", "f", "no", "n", "0") else 0
