"""The result of encoding or decoding a text, and its forms: messages, bytes and offset mappings."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, Sequence

import numpy as np

from ._messages import Repeated, varint
from .sentencepiece_pb2 import NBestSentencePieceText, SentencePieceText

_Piece = SentencePieceText.SentencePiece


class Pieces(NamedTuple):
    """The pieces of one text, in parallel lists. Offsets are in bytes of the UTF-8 text."""

    text: bytes
    ids: list[int]
    pieces: list[str]
    spans: list[tuple[int, int]]
    #: None for a piece that has no surface of its own.
    surfaces: list[bytes | None]
    score: float | None = None

    def to_bytes(self) -> bytes:
        """Return the serialised SentencePieceText."""
        parts = [b"\x0a", varint(len(self.text)), self.text]
        for id, piece, span, surface in zip(self.ids, self.pieces, self.spans, self.surfaces):
            name = piece.encode()
            content = b"\x0a" + varint(len(name)) + name + b"\x10" + varint(id)
            if surface is not None:
                content += b"\x1a" + varint(len(surface)) + surface
            content += b"\x20" + varint(span[0]) + b"\x28" + varint(span[1])
            parts += (b"\x12", varint(len(content)), content)
        if self.score is not None:
            parts += (b"\x1d", struct.pack("<f", self.score))
        return b"".join(parts)

    def to_message(self, in_characters: bool = False) -> SentencePieceText:
        """Return the message, with offsets in bytes or in characters."""
        spans = character_spans(self.text, self.spans) if in_characters else self.spans
        made = SentencePieceText(text=self.text.decode("utf-8", "replace"))
        if self.score is not None:
            made.score = self.score
        pieces: list[Any] = []
        for id, piece, (begin, end), surface in zip(self.ids, self.pieces, spans, self.surfaces):
            values: dict[str, Any] = {"piece": piece, "id": id, "begin": begin, "end": end}
            if surface is not None:
                values["surface"] = surface.decode("utf-8", "replace")
            each = _Piece()
            each.__dict__["_values"] = values
            pieces.append(each)
        made.__dict__["_values"]["pieces"] = Repeated(_Piece, pieces)
        return made

    def to_mapping(self, as_bytes: bool, with_text: bool) -> dict[str, Any]:
        """Return ids, pieces and offsets: in bytes, or in characters."""
        made: dict[str, Any] = {}
        if with_text:
            made["text"] = self.text if as_bytes else self.text.decode("utf-8", "replace")
        made["ids"] = self.ids
        made["pieces"] = [piece.encode() for piece in self.pieces] if as_bytes else self.pieces
        made["offsets"] = self.spans if as_bytes else character_spans(self.text, self.spans)
        return made


def as_bytes(text: str | bytes) -> bytes:
    """Return the text as UTF-8, unchecked."""
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, bytes):
        return text
    raise TypeError(f"a text must be str or bytes, not {type(text).__name__}")


def characters_before(text: bytes) -> Any:
    """Return how many characters begin before each byte of a text, and before its end."""
    starts = (np.frombuffer(text, np.uint8) & 0xC0) != 0x80
    return np.concatenate(([0], np.cumsum(starts)))


def character_spans(text: bytes, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges of bytes as ranges of characters."""
    if text.isascii():
        return list(spans)
    before = characters_before(text).tolist()
    return [(before[begin], before[end]) for begin, end in spans]


def n_best_to_bytes(best: Sequence[Pieces]) -> bytes:
    """Return the serialised NBestSentencePieceText."""
    parts = []
    for each in best:
        content = each.to_bytes()
        parts += [b"\x0a", varint(len(content)), content]
    return b"".join(parts)


def n_best_to_message(best: Sequence[Pieces], in_characters: bool = False) -> NBestSentencePieceText:
    """Return the message of several segmentations."""
    made = NBestSentencePieceText()
    made.__dict__["_values"]["nbests"] = Repeated(SentencePieceText, [each.to_message(in_characters) for each in best])
    return made


def normalize(normalizer: Any, input: Any, with_offsets: bool | None) -> Any:
    """Normalise a text, or each text of a list."""
    if isinstance(input, list):
        return [normalize(normalizer, text, with_offsets) for text in input]
    data = as_bytes(input)
    text, origin = normalizer.normalize(data)
    if not text:
        # The library has no offsets of an empty text, except the end in characters.
        empty: Any = b"" if isinstance(input, bytes) else ""
        offsets = [] if isinstance(input, bytes) else [0]
        return (empty, offsets) if with_offsets else empty
    if isinstance(input, bytes):
        return (text, origin.tolist()) if with_offsets else text
    if not with_offsets:
        return text.decode()
    # One offset for each character of the normalised text and one for its end, counted in characters.
    starts = np.concatenate(((np.frombuffer(text, np.uint8) & 0xC0) != 0x80, [True]))
    before = characters_before(data)
    return text.decode(), before[origin[starts]].tolist()
