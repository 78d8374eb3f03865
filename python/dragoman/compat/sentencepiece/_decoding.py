"""Decoding: the methods of SentencePieceProcessor from pieces to text."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ._base import IMMUTABLE, Base, ThreadPool, is_sequence


class Decoding(Base):
    """Decode() and its many forms."""

    def Decode(
        self,
        input: Any,
        return_type: Any = None,
        out_type: Any = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """Return the text of ids or pieces, or of each sequence of a list.

        Parameters
        ----------
        input
            An id, a piece, a sequence of them, an array of ids, or a sequence of such sequences.
        return_type
            `str`, `bytes`, "proto", "serialized_proto" or "offset_mapping".
        return_bytes
            For "offset_mapping": whether texts are bytes and offsets count bytes.
        """
        kind = self._resolve(return_type, out_type, str)
        if return_bytes is not None and kind != "offset_mapping":
            raise ValueError("return_bytes is only supported with return_type='offset_mapping'")
        if kind in (int, "numpy"):
            raise ValueError(f"return_type is {kind!r}; for decoding it must be str, bytes or the name of a message")
        self._pool(self._num_threads if num_threads is None else num_threads, thread_pool)
        if input is None or (isinstance(input, (str, bytes)) and not input):
            input = []
        if not is_sequence(input):
            input = [input]
        batch = input.ndim > 1 if hasattr(input, "ndim") else len(input) > 0 and is_sequence(input[0])
        if not batch:
            return self._decode_one(input, kind, return_bytes)
        if getattr(input, "ndim", 2) > 2:
            raise TypeError("ids must be an array of one or two dimensions")
        items = list(input)
        first: Any = next((item for item in items if is_sequence(item) and len(item)), [])
        are_pieces = not hasattr(first, "dtype") and len(first) > 0 and isinstance(first[0], (str, bytes))
        return [self._decode_one(item, kind, return_bytes, are_pieces) for item in items]

    def _decode_one(self, items: Any, kind: Any, return_bytes: bool | None, are_pieces: bool | None = None) -> Any:
        model = self._model
        if are_pieces is None:
            are_pieces = not hasattr(items, "dtype") and len(items) > 0 and isinstance(items[0], (str, bytes))
        in_bytes = False
        if are_pieces:
            names = list(items)
            if not all(isinstance(name, (str, bytes)) for name in names):
                raise TypeError("pieces must be str or bytes")
            in_bytes = bool(names) and isinstance(names[0], bytes)
            ids: Any = [model.id(name) for name in names]
        else:
            ids = self._checked_ids(items)
        if kind in (str, bytes) and not self._decode_extra:
            if are_pieces and any(id < 0 or id == model.unk_id for id in ids):
                text = model.decode_pieces(names, ids).text
            else:
                text = model.decode_ids(ids)
            return text if kind is bytes or in_bytes else text.decode("utf-8", "replace")
        listed = [int(id) for id in ids]
        pieces: list[Any] = names if are_pieces else [model.pieces[id] for id in listed]
        for option in self._decode_extra:
            if option == "reverse":
                listed, pieces = listed[::-1], pieces[::-1]
        decoded = model.decode_pieces(pieces, listed)
        if kind == "offset_mapping":
            return decoded.to_mapping(bool(return_bytes) or in_bytes, with_text=True)
        if kind == "serialized_proto":
            return decoded.to_bytes()
        if kind in ("proto", IMMUTABLE):
            return decoded.to_message(in_characters=kind == IMMUTABLE)
        return decoded.text if kind is bytes or in_bytes else decoded.text.decode("utf-8", "replace")

    def _checked_ids(self, items: Any) -> Any:
        """Return ids as an array of 32 bits, or as a list of numbers, all of them in the vocabulary."""
        size = len(self._model.pieces)
        if hasattr(items, "dtype"):
            if items.dtype.kind not in "iu":
                raise TypeError("ids must be integers")
            if items.ndim != 1:
                raise TypeError("ids must be an array of one or two dimensions")
            if items.size and (items.min() < 0 or items.max() >= size):
                raise IndexError(f"Invalid id: ids are 0 to {size - 1}")
            return np.ascontiguousarray(items, np.int32)
        try:
            ids = [operator.index(id) for id in items]
        except TypeError as error:
            raise TypeError("ids must be integers") from error
        for id in ids:
            if not 0 <= id < size:
                raise IndexError(f"Invalid id: {id}; ids are 0 to {size - 1}")
        return ids

    def DecodePieces(self, input: Any, return_type: Any = None, **kwargs: Any) -> Any:
        """Decode(), for pieces."""
        return self.Decode(input, return_type=return_type, **kwargs)

    def DecodeIds(self, input: Any, return_type: Any = None, **kwargs: Any) -> Any:
        """Decode(), for ids."""
        return self.Decode(input, return_type=return_type, **kwargs)

    def DecodePiecesAsProto(self, input: Any, **kwargs: Any) -> Any:
        """Decode() with return_type="proto"."""
        return self.Decode(input, return_type="proto", **kwargs)

    def DecodeIdsAsProto(self, input: Any, **kwargs: Any) -> Any:
        """Decode() with return_type="proto"."""
        return self.Decode(input, return_type="proto", **kwargs)

    def DecodePiecesAsSerializedProto(self, input: Any, **kwargs: Any) -> Any:
        """Decode() with return_type="serialized_proto"."""
        return self.Decode(input, return_type="serialized_proto", **kwargs)

    def DecodeIdsAsSerializedProto(self, input: Any, **kwargs: Any) -> Any:
        """Decode() with return_type="serialized_proto"."""
        return self.Decode(input, return_type="serialized_proto", **kwargs)

    def DecodePiecesAsImmutableProto(self, input: Any, **kwargs: Any) -> Any:
        """Decode() with out_type="immutable_proto"."""
        return self.Decode(input, out_type=IMMUTABLE, **kwargs)

    def DecodeIdsAsImmutableProto(self, input: Any, **kwargs: Any) -> Any:
        """Decode() with out_type="immutable_proto"."""
        return self.Decode(input, out_type=IMMUTABLE, **kwargs)
