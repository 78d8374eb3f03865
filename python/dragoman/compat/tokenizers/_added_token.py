"""Tokens outside the model's vocabulary."""

from __future__ import annotations

from typing import Any, Optional

from ._checks import ignore_unknown


class AddedToken:
    """A token that is found in the text before the model sees it.

    Parameters
    ----------
    content
        The text of the token.
    single_word
        Whether it is not found inside a word.
    lstrip, rstrip
        Whether it takes the whitespace before and after it.
    normalized
        Whether it is found in the normalised text; by default unless it is special.
    special
        Whether decoding leaves it out.

    Examples
    --------
    >>> AddedToken("<mask>", lstrip=True)
    AddedToken("<mask>", rstrip=False, lstrip=True, single_word=False, normalized=True, special=False)
    """

    __slots__ = ("content", "single_word", "lstrip", "rstrip", "special", "_normalized")

    def __init__(
        self,
        content: Optional[str] = None,
        *,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: Optional[bool] = None,
        special: bool = False,
        **unknown: Any,
    ) -> None:
        ignore_unknown(unknown)
        self.content = "" if content is None else content
        self.single_word = single_word
        self.lstrip = lstrip
        self.rstrip = rstrip
        self.special = special
        self._normalized = normalized

    @property
    def normalized(self) -> bool:
        """Whether it is found in the normalised text."""
        return not self.special if self._normalized is None else self._normalized

    def _fields(self) -> dict[str, Any]:
        names = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
        return {name: getattr(self, name) for name in names}

    def _copy(self) -> AddedToken:
        return AddedToken(**{**self._fields(), "normalized": self._normalized})

    def __getstate__(self) -> dict[str, Any]:
        return self._fields()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        flags = ("rstrip", "lstrip", "single_word", "normalized", "special")
        return f'AddedToken("{self.content}", {", ".join(f"{name}={getattr(self, name)}" for name in flags)})'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AddedToken) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self.content)
