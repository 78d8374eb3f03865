"""The order of pieces in a trained model, and the model itself."""

from __future__ import annotations

from typing import Any, Sequence

from ._types import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from .sentencepiece_model_pb2 import ModelProto, TrainerSpec

Piece = tuple[str, float, int]
_UNKNOWN = "<unk>"


def _fits_engine(symbol: str) -> bool:
    """Return whether the engine can be told of a symbol: texts of lines do not contain others as a whole."""
    return bool(symbol.strip(" ")) and not any(c in symbol for c in "\n\r\0")


class Layout:
    """Which ids the pieces have that flags name: unknown, control and user-defined pieces, and bytes.

    Attributes
    ----------
    meta
        Text and type of these pieces, by id.
    engine_specials, engine_symbols, engine_size
        What the engine is told: the pieces that it must not learn, and the size with them.
    """

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.meta: dict[int, tuple[str, int]] = {}
        for id, piece, type in (
            (spec.unk_id, spec.unk_piece, UNKNOWN),
            (spec.bos_id, spec.bos_piece, CONTROL),
            (spec.eos_id, spec.eos_piece, CONTROL),
            (spec.pad_id, spec.pad_piece, CONTROL),
        ):
            if id < 0:
                continue
            if id >= spec.vocab_size or id in self.meta:
                raise RuntimeError(f"the id {id} of {piece} is taken, or not below the size of the vocabulary")
            self.meta[id] = piece, type
        self._next = 0
        for symbol in spec.control_symbols:
            self._add(symbol, CONTROL)
        for symbol in spec.user_defined_symbols:
            self._add(symbol, USER_DEFINED)
            if spec.model_type == TrainerSpec.WORD and not symbol.startswith("\u2581"):
                self._add("\u2581" + symbol, USER_DEFINED)
        if spec.byte_fallback:
            for byte in range(256):
                self._add(f"<0x{byte:02X}>", BYTE)
        texts = [piece for piece, _ in self.meta.values()]
        if len(set(texts)) != len(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            raise RuntimeError(f"{twice} is already defined. duplicated symbols are not allowed.")
        self.engine_specials = [_UNKNOWN] + [
            piece for piece, type in self.meta.values() if type == CONTROL and piece != _UNKNOWN and " " not in piece
        ]
        self.engine_symbols = [
            piece
            for piece, type in self.meta.values()
            if type == USER_DEFINED and _fits_engine(piece) and piece not in self.engine_specials
        ]
        self.wanted = spec.vocab_size - len(self.meta)
        given = len(self.engine_specials) + len(self.engine_symbols) + (256 if spec.byte_fallback else 0)
        # A few more than needed: some may turn out to be named by flags.
        self.spare = sum(len(piece) == 1 for piece in texts) and 8
        self.engine_size = given + max(self.wanted, 0) + self.spare

    def _add(self, piece: str, type: int) -> None:
        spec = self.spec
        if piece == spec.unk_piece:
            raise RuntimeError(f"{piece} must not be defined with --control_symbols and --user_defined_symbols.")
        for id, name in (
            (spec.bos_id, spec.bos_piece),
            (spec.eos_id, spec.eos_piece),
            (spec.pad_id, spec.pad_piece),
        ):
            if piece == name and id >= 0:
                self.meta[id] = piece, type
                return
        while self._next in self.meta:
            self._next += 1
        self.meta[self._next] = piece, type

    def arrange(self, learned: Sequence[Piece]) -> list[Piece]:
        """Return all pieces by id. Raises RuntimeError if there are fewer than hard_vocab_limit demands."""
        spec = self.spec
        named = {piece for piece, _ in self.meta.values()}
        normal = [piece for piece in learned if piece[2] == NORMAL and piece[0] not in named]
        normal = self._with_required_characters(normal, named)
        pieces: list[Piece] = []
        rest = iter(normal)
        for id in range(spec.vocab_size):
            if id in self.meta:
                pieces.append((self.meta[id][0], 0.0, self.meta[id][1]))
            elif (piece := next(rest, None)) is not None:
                pieces.append(piece)
            elif not any(later > id for later in self.meta):
                break
        size = len(pieces)
        if size < spec.vocab_size and spec.hard_vocab_limit and spec.model_type != TrainerSpec.CHAR:
            raise RuntimeError(
                f"Vocabulary size too high ({spec.vocab_size}). Please set it to a value <= {size}, "
                "or set hard_vocab_limit=False."
            )
        spec.vocab_size = size
        return pieces

    def _with_required_characters(self, normal: list[Piece], named: set[str]) -> list[Piece]:
        known = {piece for piece, _, _ in normal} | named
        missing = [c for c in dict.fromkeys(self.spec.required_chars) if c not in known and c not in " \0"]
        least = min((score for _, score, _ in normal), default=0.0)
        bpe = self.spec.model_type == TrainerSpec.BPE
        normal = normal + [(c, least - i - 1 if bpe else least, NORMAL) for i, c in enumerate(missing)]
        # What is too much are the worst pieces of several characters.
        excess = len(normal) - self.wanted
        if excess > 0:
            long = sorted((i for i, piece in enumerate(normal) if len(piece[0]) > 1), key=lambda i: -normal[i][1])
            if excess > len(long):
                raise RuntimeError(
                    f"Vocabulary size is smaller than required_chars. {self.spec.vocab_size} vs "
                    f"{len(normal) - len(long) + len(self.meta)}. Increase vocab_size or decrease character_coverage."
                )
            dropped = set(long[len(long) - excess :])
            normal = [piece for i, piece in enumerate(normal) if i not in dropped]
        return normal


def to_model(pieces: Sequence[Piece], trainer: Any, normalizer: Any) -> bytes:
    """Return the serialised model."""
    model = ModelProto()
    for piece, score, type in pieces:
        entry = model.pieces.add(piece=piece, score=score)
        if type != NORMAL:
            entry.type = type
    model.trainer_spec.CopyFrom(trainer)
    model.normalizer_spec.CopyFrom(normalizer)
    return model.SerializeToString()
