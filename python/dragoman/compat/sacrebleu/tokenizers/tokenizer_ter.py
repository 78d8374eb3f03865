"""The tokenizer of TER."""

from __future__ import annotations

from dragoman import _core

from .tokenizer_base import BaseTokenizer


class TercomTokenizer(BaseTokenizer):
    """Tercom's normalisation. The parameters are those of `TER`.

    Examples
    --------
    >>> TercomTokenizer(normalized=True)("Jim's car.")
    "jim 's car ."
    """

    def __init__(
        self,
        normalized: bool = False,
        no_punct: bool = False,
        asian_support: bool = False,
        case_sensitive: bool = False,
    ) -> None:
        self._options = (normalized, no_punct, asian_support, case_sensitive)

    def signature(self) -> str:
        return "tercom"

    def __call__(self, sent: str) -> str:
        return " ".join(_core.tokenize_for_ter(sent, *self._options))
