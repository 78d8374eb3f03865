"""The interface of a tokenizer."""

from __future__ import annotations


class BaseTokenizer:
    """Separates the tokens of a line by spaces. A class that derives from it may be a metric's `tokenizer`."""

    def signature(self) -> str:
        """Return the name in signatures."""
        raise NotImplementedError

    def __call__(self, line: str) -> str:
        """Return the line with spaces between its tokens."""
        raise NotImplementedError
