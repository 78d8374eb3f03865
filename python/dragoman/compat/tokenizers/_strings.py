"""Classes that exist so that they can be imported and named in annotations."""

from __future__ import annotations

from typing import Any


class NormalizedString:
    """Not supported: the engine keeps its own texts."""

    def __init__(self, *_: Any) -> None:
        raise NotImplementedError("NormalizedString is not supported; Normalizer.normalize_str() covers it")


class PreTokenizedString:
    """Not supported: the engine keeps its own texts."""

    def __init__(self, *_: Any) -> None:
        raise NotImplementedError("PreTokenizedString is not supported; PreTokenizer.pre_tokenize_str() covers it")


class Token:
    """A token of `Model.tokenize`."""

    __slots__ = ("id", "value", "offsets")

    def __init__(self, id: int, value: str, offsets: tuple[int, int]) -> None:
        self.id = id
        self.value = value
        self.offsets = offsets

    def as_tuple(self) -> tuple[int, str, tuple[int, int]]:
        """Return (id, value, offsets)."""
        return self.id, self.value, self.offsets
