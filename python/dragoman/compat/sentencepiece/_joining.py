"""Pieces to text, with the part of the text that each represents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._texts import Pieces
from ._types import BYTE, CONTROL, MARK, REPLACEMENT

if TYPE_CHECKING:
    from ._model import Model


class Joining:
    """The state of joining the pieces of one text."""

    def __init__(self, model: Model) -> None:
        spec = model.normalizer
        self.model = model
        self.strips = spec.add_dummy_prefix or spec.remove_extra_whitespaces
        self.strips_all = spec.remove_extra_whitespaces
        self.text = bytearray()
        self.spans: list[tuple[int, int]] = []
        self.surfaces: list[bytes | None] = []
        self.bytes = bytearray()

    def run(self, names: list[str], ids: list[int]) -> Pieces:
        model, types = self.model, self.model.types
        at_start, mark_seen = True, False
        for name, id in zip(names, ids):
            if id >= 0 and types[id] == BYTE:
                self.bytes.append(int(model.pieces[id][3:5], 16))
                continue
            self.give_bytes()
            if mark_seen or self.text:
                at_start = False
            mark_seen = False
            if id >= 0 and types[id] == CONTROL:
                surface = ""
            elif id == model.unk_id:
                whole = id >= 0 and model.pieces[id] == name
                surface = model.trainer.unk_surface if whole else name
            else:
                if at_start and self.strips and name.startswith(MARK):
                    name = name[1:]
                    mark_seen = not self.strips_all
                surface = name.replace(MARK, " ")
            self.add(surface.encode())
        self.give_bytes()
        return Pieces(bytes(self.text), ids, names, self.spans, self.surfaces)

    def add(self, surface: bytes) -> None:
        begin = len(self.text)
        self.text += surface
        self.spans.append((begin, len(self.text)))
        self.surfaces.append(surface)

    def give_bytes(self) -> None:
        at = 0
        while at < len(self.bytes):
            length = _character_length(self.bytes, at)
            for _ in range(length - 1):
                self.add(b"")
            self.add(bytes(self.bytes[at : at + length]) if length else REPLACEMENT.encode())
            at += max(length, 1)
        self.bytes.clear()


def _character_length(data: bytearray, at: int) -> int:
    """Return the number of bytes of the character that begins at `at`, or 0 if none does."""
    for length in range(1, 5):
        try:
            bytes(data[at : at + length]).decode()
            return min(length, len(data) - at)
        except UnicodeDecodeError:
            continue
    return 0
