"""The result of encoding or decoding a text, as messages."""

from __future__ import annotations

from ._messages import Field, Message


class _SentencePiece(Message):
    """One piece of a text, and the bytes [begin, end) of the text that it represents."""

    FIELDS = (
        Field(1, "piece", str),
        Field(2, "id", "uint"),
        Field(3, "surface", str),
        Field(4, "begin", "uint"),
        Field(5, "end", "uint"),
    )


_SentencePiece.__name__ = "SentencePiece"
_SentencePiece.__qualname__ = "SentencePieceText.SentencePiece"


class SentencePieceText(Message):
    """A text and its pieces."""

    SentencePiece = _SentencePiece
    FIELDS = (
        Field(1, "text", str),
        Field(2, "pieces", _SentencePiece, repeated=True),
        Field(3, "score", float),
    )


class NBestSentencePieceText(Message):
    """The best segmentations of a text."""

    FIELDS = (Field(1, "nbests", SentencePieceText, repeated=True),)
