"""Encoding: the methods of SentencePieceProcessor from text to pieces."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ._base import IMMUTABLE, Base, Text, ThreadPool
from ._model import OptionsOf
from ._texts import Pieces, n_best_to_bytes, n_best_to_message


class Encoding(Base):
    """Encode() and its many forms."""

    def _check_specials(self, add_bos: bool, add_eos: bool, emit_unk_piece: bool = False) -> None:
        for wanted, id, name in (
            (add_bos, self.bos_id(), "BOS"),
            (add_eos, self.eos_id(), "EOS"),
            (emit_unk_piece, self.unk_id(), "UNK"),
        ):
            if wanted and id < 0:
                raise ValueError(f"{name} token is not defined as a control symbol in this model.")

    def _rewrite(self, items: list[Any], bos: Any, eos: Any, add_bos: bool, add_eos: bool, reverse: bool) -> list[Any]:
        """Apply extra options, then the arguments of a call, to ids or pieces."""
        for option in self._encode_extra:
            if option == "reverse":
                items = items[::-1]
            elif option == "bos":
                items = [bos, *items]
            elif option == "eos":
                items = [*items, eos]
        if reverse:
            items = items[::-1]
        if add_bos:
            items = [bos, *items]
        if add_eos:
            items = [*items, eos]
        return items

    def _rewrite_ids(self, ids: list[int], add_bos: bool, add_eos: bool, reverse: bool) -> list[int]:
        if not (add_bos or add_eos or reverse or self._encode_extra):
            return ids
        self._check_specials(add_bos, add_eos)
        return self._rewrite(ids, self.bos_id(), self.eos_id(), add_bos, add_eos, reverse)

    def _rewrite_array(self, ids: Any, add_bos: bool, add_eos: bool, reverse: bool) -> Any:
        if add_bos or add_eos or reverse or self._encode_extra:
            ids = np.array(self._rewrite_ids(ids.tolist(), add_bos, add_eos, reverse), np.int32)
        ids.flags.writeable = False
        return ids

    def _rewrite_pieces(
        self, ids: Sequence[int], pieces: list[str], add_bos: bool, add_eos: bool, reverse: bool, emit_unk_piece: bool
    ) -> list[str]:
        if not (add_bos or add_eos or reverse or emit_unk_piece or self._encode_extra):
            return pieces
        self._check_specials(add_bos, add_eos, emit_unk_piece)
        model = self._model
        if (emit_unk_piece or "unk" in self._encode_extra) and model.unk_id >= 0:
            unknown = model.pieces[model.unk_id]
            pieces = [unknown if id == model.unk_id else piece for id, piece in zip(ids, pieces)]
        return self._rewrite(pieces, model.trainer.bos_piece, model.trainer.eos_piece, add_bos, add_eos, reverse)

    def _check_whole(self, add_bos: bool, add_eos: bool, reverse: bool, emit_unk_piece: bool) -> None:
        if add_bos or add_eos or reverse or emit_unk_piece:
            raise RuntimeError("add_bos, add_eos, reverse, and emit_unk_piece is not supported in proto API")

    def _with_extras(self, pieces: Pieces) -> Pieces:
        """Apply extra options to pieces with offsets."""
        model = self._model
        rows = list(zip(pieces.ids, pieces.pieces, pieces.spans, pieces.surfaces))
        end = len(pieces.text)
        for option in self._encode_extra:
            if option == "reverse":
                rows.reverse()
            elif option == "bos":
                rows.insert(0, (self.bos_id(), model.trainer.bos_piece, (0, 0), None))
            elif option == "eos":
                rows.append((self.eos_id(), model.trainer.eos_piece, (end, end), None))
            else:
                unknown = model.pieces[model.unk_id]
                rows = [(row[0], unknown, row[2], row[3]) if row[0] == model.unk_id else row for row in rows]
        return Pieces(
            pieces.text,
            [row[0] for row in rows],
            [row[1] for row in rows],
            [row[2] for row in rows],
            [row[3] for row in rows],
            pieces.score,
        )

    def Encode(
        self,
        input: Any,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        enable_sampling: bool | None = None,
        nbest_size: int | None = None,
        alpha: float | None = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_type: Any = None,
        out_type: Any = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """Segment a text, or each text of a list. The parameters are those of the class."""
        kind = self._resolve(return_type, out_type)
        if return_bytes is not None and kind != "offset_mapping":
            raise ValueError("return_bytes is only supported with return_type='offset_mapping'")
        add_bos, add_eos, reverse, emit_unk_piece, enable_sampling, nbest_size, alpha, num_threads = self._given(
            add_bos=add_bos,
            add_eos=add_eos,
            reverse=reverse,
            emit_unk_piece=emit_unk_piece,
            enable_sampling=enable_sampling,
            nbest_size=nbest_size,
            alpha=alpha,
            num_threads=num_threads,
        )
        if enable_sampling and (nbest_size in (None, 0, 1) or alpha is None):
            raise ValueError('for sampling, give "alpha", and "nbest_size" > 1 or "nbest_size" = -1')
        threads = self._pool(num_threads, thread_pool)
        model = self._model
        options_of = model.options((nbest_size, alpha) if enable_sampling else None)
        options = options_of(0)
        if isinstance(input, list):
            return self._encode_list(
                input, kind, options_of, threads, add_bos, add_eos, reverse, emit_unk_piece, return_bytes
            )
        if kind is int:
            return self._rewrite_ids(model.encode_ids(input, options).tolist(), add_bos, add_eos, reverse)
        if kind == "numpy":
            return self._rewrite_array(model.encode_ids(input, options), add_bos, add_eos, reverse)
        if kind in (str, bytes):
            ids = model.encode_ids(input, options).tolist()
            pieces = model.texts_of(input, ids, options)
            pieces = self._rewrite_pieces(ids, pieces, add_bos, add_eos, reverse, emit_unk_piece)
            return pieces if kind is str else [piece.encode() for piece in pieces]
        self._check_whole(add_bos, add_eos, reverse, emit_unk_piece)
        if return_bytes is None:
            return_bytes = isinstance(input, bytes)
        return self._form(self._with_extras(model.encode_pieces(input, options)), kind, return_bytes, input)

    def _encode_list(
        self,
        texts: list[Any],
        kind: Any,
        options_of: OptionsOf,
        threads: int,
        add_bos: bool,
        add_eos: bool,
        reverse: bool,
        emit_unk_piece: bool,
        return_bytes: bool | None,
    ) -> list[Any]:
        model = self._model
        if kind in (int, str, bytes, "numpy"):
            arrays = model.encode_ids_batch(texts, threads, options_of(0))
            if kind == "numpy":
                return [self._rewrite_array(ids, add_bos, add_eos, reverse) for ids in arrays]
            lists = [ids.tolist() for ids in arrays]
            if kind is int:
                return [self._rewrite_ids(ids, add_bos, add_eos, reverse) for ids in lists]
            made = []
            for line, (text, ids) in enumerate(zip(texts, lists)):
                pieces = model.texts_of(text, ids, options_of(line))
                made.append(self._rewrite_pieces(ids, pieces, add_bos, add_eos, reverse, emit_unk_piece))
            return made if kind is str else [[piece.encode() for piece in pieces] for pieces in made]
        self._check_whole(add_bos, add_eos, reverse, emit_unk_piece)
        if return_bytes is None:
            return_bytes = bool(texts) and isinstance(texts[0], bytes)
        return [
            self._form(self._with_extras(model.encode_pieces(text, options_of(line))), kind, return_bytes, text)
            for line, text in enumerate(texts)
        ]

    @staticmethod
    def _form(pieces: Pieces, kind: Any, return_bytes: bool, given: Any) -> Any:
        if kind == "serialized_proto":
            return pieces.to_bytes()
        if kind == "proto":
            return pieces.to_message()
        if kind == IMMUTABLE:
            return pieces.to_message(in_characters=isinstance(given, str))
        return pieces.to_mapping(return_bytes, with_text=False)

    def EncodeAsPieces(self, input: Any, **kwargs: Any) -> Any:
        """Encode() with return_type=str."""
        return self.Encode(input, return_type=str, **kwargs)

    def EncodeAsIds(self, input: Any, **kwargs: Any) -> Any:
        """Encode() with return_type=int."""
        return self.Encode(input, return_type=int, **kwargs)

    def EncodeAsNumpy(self, input: Any, **kwargs: Any) -> Any:
        """Encode() with return_type="numpy"."""
        return self.Encode(input, return_type="numpy", **kwargs)

    def EncodeAsProto(self, input: Any, **kwargs: Any) -> Any:
        """Encode() with return_type="proto"."""
        return self.Encode(input, return_type="proto", **kwargs)

    def EncodeAsSerializedProto(self, input: Any, **kwargs: Any) -> Any:
        """Encode() with return_type="serialized_proto"."""
        return self.Encode(input, return_type="serialized_proto", **kwargs)

    def EncodeAsImmutableProto(self, input: Any, **kwargs: Any) -> Any:
        """Encode() with out_type="immutable_proto": offsets in characters for a str. (Before version 0.2.3.)"""
        return self.Encode(input, out_type=IMMUTABLE, **kwargs)

    def EncodeAsOffsetMapping(self, input: Any, **kwargs: Any) -> Any:
        """Encode() with return_type="offset_mapping"."""
        return self.Encode(input, return_type="offset_mapping", **kwargs)

    def _sample(self, input: Any, nbest_size: Any, alpha: Any, kwargs: dict[str, Any], **kind: Any) -> Any:
        return self.Encode(input, nbest_size=nbest_size, alpha=alpha, enable_sampling=True, **kind, **kwargs)

    def SampleEncodeAsPieces(self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """Draw a segmentation, as pieces."""
        return self._sample(input, nbest_size, alpha, kwargs, return_type=str)

    def SampleEncodeAsIds(self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """Draw a segmentation, as ids."""
        return self._sample(input, nbest_size, alpha, kwargs, return_type=int)

    def SampleEncodeAsNumpy(self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """Draw a segmentation, as an array of ids."""
        return self._sample(input, nbest_size, alpha, kwargs, return_type="numpy")

    def SampleEncodeAsProto(self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """Draw a segmentation, as a message."""
        return self._sample(input, nbest_size, alpha, kwargs, return_type="proto")

    def SampleEncodeAsSerializedProto(
        self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any
    ) -> Any:
        """Draw a segmentation, as a serialised message."""
        return self._sample(input, nbest_size, alpha, kwargs, return_type="serialized_proto")

    def SampleEncodeAsImmutableProto(self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """Draw a segmentation, as a message with offsets in characters."""
        return self._sample(input, nbest_size, alpha, kwargs, out_type=IMMUTABLE)

    # ---- the best segmentations

    def NBestEncode(
        self,
        input: Any,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        nbest_size: int | None = None,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Return the best segmentations of a text, or of each text of a list. Unigram models only."""
        kind = self._resolve(return_type, out_type)
        add_bos, add_eos, reverse, emit_unk_piece, nbest_size = self._given(
            add_bos=add_bos, add_eos=add_eos, reverse=reverse, emit_unk_piece=emit_unk_piece, nbest_size=nbest_size
        )
        if kind == "offset_mapping":
            raise ValueError("return_type 'offset_mapping' is not supported for the best segmentations")
        if kind in ("proto", "serialized_proto", IMMUTABLE):
            self._check_whole(add_bos, add_eos, reverse, emit_unk_piece)

        def encode(text: Text) -> Any:
            best = self._model.encode_n_best(text, max(nbest_size, 1))
            if kind in ("proto", "serialized_proto", IMMUTABLE):
                best = [self._with_extras(each) for each in best]
                if kind == "serialized_proto":
                    return n_best_to_bytes(best)
                return n_best_to_message(best, in_characters=kind == IMMUTABLE and isinstance(text, str))
            if kind in (str, bytes):
                pieces = [
                    self._rewrite_pieces(each.ids, each.pieces, add_bos, add_eos, reverse, emit_unk_piece)
                    for each in best
                ]
                return pieces if kind is str else [[piece.encode() for piece in each] for each in pieces]
            if kind == "numpy":
                arrays = [np.array(each.ids, np.int32) for each in best]
                return [self._rewrite_array(ids, add_bos, add_eos, reverse) for ids in arrays]
            return [self._rewrite_ids(each.ids, add_bos, add_eos, reverse) for each in best]

        return [encode(text) for text in input] if isinstance(input, list) else encode(input)

    def NBestEncodeAsPieces(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """NBestEncode() with return_type=str."""
        return self.NBestEncode(input, nbest_size=nbest_size, return_type=str, **kwargs)

    def NBestEncodeAsIds(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """NBestEncode() with return_type=int."""
        return self.NBestEncode(input, nbest_size=nbest_size, return_type=int, **kwargs)

    def NBestEncodeAsNumpy(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """NBestEncode() with return_type="numpy"."""
        return self.NBestEncode(input, nbest_size=nbest_size, return_type="numpy", **kwargs)

    def NBestEncodeAsProto(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """NBestEncode() with return_type="proto"."""
        return self.NBestEncode(input, nbest_size=nbest_size, return_type="proto", **kwargs)

    def NBestEncodeAsSerializedProto(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """NBestEncode() with return_type="serialized_proto"."""
        return self.NBestEncode(input, nbest_size=nbest_size, return_type="serialized_proto", **kwargs)

    def NBestEncodeAsImmutableProto(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """NBestEncode() with out_type="immutable_proto"."""
        return self.NBestEncode(input, nbest_size=nbest_size, out_type=IMMUTABLE, **kwargs)

    # ---- one long text

    def ParallelEncode(
        self,
        input: Any,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        chunk_len: int | None = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Encode() for long texts. `chunk_len` is checked and has no effect: a text is not divided."""
        kind = self._resolve(return_type, out_type)
        if not isinstance(chunk_len, int) or chunk_len <= 0:
            raise ValueError("chunk_len must be positive.")
        if kind == "offset_mapping":
            raise ValueError("return_type 'offset_mapping' is not supported for ParallelEncode")
        return self.Encode(
            input,
            add_bos=add_bos,
            add_eos=add_eos,
            reverse=reverse,
            emit_unk_piece=emit_unk_piece,
            enable_sampling=False,
            num_threads=num_threads,
            thread_pool=thread_pool,
            **{"out_type" if kind == IMMUTABLE else "return_type": kind},
        )

    def ParallelEncodeAsPieces(self, input: Any, **kwargs: Any) -> Any:
        """ParallelEncode() with return_type=str."""
        return self.ParallelEncode(input, return_type=str, **kwargs)

    def ParallelEncodeAsIds(self, input: Any, **kwargs: Any) -> Any:
        """ParallelEncode() with return_type=int."""
        return self.ParallelEncode(input, return_type=int, **kwargs)

    def ParallelEncodeAsNumpy(self, input: Any, **kwargs: Any) -> Any:
        """ParallelEncode() with return_type="numpy"."""
        return self.ParallelEncode(input, return_type="numpy", **kwargs)

    def ParallelEncodeAsProto(self, input: Any, **kwargs: Any) -> Any:
        """ParallelEncode() with return_type="proto"."""
        return self.ParallelEncode(input, return_type="proto", **kwargs)
