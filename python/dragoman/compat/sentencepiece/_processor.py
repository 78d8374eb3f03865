"""SentencePieceProcessor."""

from __future__ import annotations

import math
import operator
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

import numpy as np

from . import _lattice
from ._model import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, LoadError, Model, OptionsOf, as_bytes
from ._texts import Pieces, characters_before, n_best_to_bytes, n_best_to_message
from .sentencepiece_model_pb2 import ModelProto

_RETURN_TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")
_IMMUTABLE = "immutable_proto"
_EXTRA_OPTIONS = {"bos": "bos", "eos": "eos", "reverse": "reverse", "unk": "unk", "unk_piece": "unk"}

Text = str | bytes


class ThreadPool:
    """A number of threads. The engine keeps its own threads, so a pool holds none."""

    def __init__(self, num_threads: int) -> None:
        self._threads = _threads(num_threads) or _core_threads()

    def num_threads(self) -> int:
        """Return the number of threads."""
        return self._threads


def _core_threads() -> int:
    import os

    return len(os.sched_getaffinity(0))


def _threads(num_threads: int) -> int:
    """Return the number as the engine takes it: 0 for as many as the process may use."""
    return 0 if num_threads < 0 else max(1, min(num_threads, 1024))


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


class SentencePieceProcessor:
    """Segments texts into pieces and puts them together again, with a SentencePiece model.

    Parameters
    ----------
    model_file, model_proto
        The file of a model, or its content. `Load` loads one later.
    out_type, return_type
        The form of results: `int` (ids), `str` or `bytes` (pieces), "numpy", "proto", "serialized_proto" or
        "offset_mapping". `return_type` is the newer name.
    add_bos, add_eos, reverse
        Whether ids and pieces get `<s>` in front, `</s>` behind, or are reversed.
    emit_unk_piece
        Whether an unknown piece is `<unk>` instead of its text.
    enable_sampling, nbest_size, alpha
        Whether segmentations are drawn at random: among the best ones (-1: among all), with the smoothing `alpha`; for
        BPE models, `alpha` is the share of merges that are skipped.
    num_threads
        The threads that share a list of texts; -1: as many as the process may use.

    Examples
    --------
    >>> import tempfile
    >>> from dragoman.compat import sentencepiece as spm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spm.SentencePieceTrainer.train(
    ...         sentence_iterator=iter(["a cat sat on a mat"] * 10), model_prefix=f"{folder}/m", vocab_size=14,
    ...         model_type="bpe", minloglevel=2)
    ...     sp = spm.SentencePieceProcessor(model_file=f"{folder}/m.model")
    >>> sp.decode(sp.encode("a mat"))
    'a mat'
    >>> sp.encode("a mat", out_type=str)[0]
    '▁a'
    """

    def __init__(
        self,
        model_file: Any = None,
        model_proto: Any = None,
        out_type: Any = None,
        add_bos: bool = False,
        add_eos: bool = False,
        reverse: bool = False,
        emit_unk_piece: bool = False,
        enable_sampling: bool = False,
        nbest_size: int = -1,
        alpha: float = 0.1,
        num_threads: int = -1,
        return_type: Any = None,
    ) -> None:
        self._loaded: Model | None = None
        self._encode_extra: list[str] = []
        self._decode_extra: list[str] = []
        self._return_type: Any = int
        self._return_type = self._resolve(return_type, out_type, int)
        self._add_bos = add_bos
        self._add_eos = add_eos
        self._reverse = reverse
        self._emit_unk_piece = emit_unk_piece
        self._enable_sampling = enable_sampling
        self._nbest_size = nbest_size
        self._alpha = alpha
        self._num_threads = num_threads
        if model_file or model_proto:
            self.Load(model_file=model_file, model_proto=model_proto)

    # ---- loading

    @classmethod
    def from_file(cls, model_file: Any, **kwargs: Any) -> SentencePieceProcessor:
        """Return a processor with the model of a file."""
        cls._check_factory(kwargs)
        made = cls(**kwargs)
        made.LoadFromFile(model_file)
        return made

    @classmethod
    def from_proto(cls, model_proto: Any, **kwargs: Any) -> SentencePieceProcessor:
        """Return a processor with a serialised model."""
        cls._check_factory(kwargs)
        made = cls(**kwargs)
        made.LoadFromSerializedProto(model_proto)
        return made

    @staticmethod
    def _check_factory(kwargs: dict[str, Any]) -> None:
        if "model_file" in kwargs or "model_proto" in kwargs:
            raise ValueError("the model is given by the first argument; leave out model_file and model_proto")

    def Load(self, model_file: Any = None, model_proto: Any = None) -> bool:
        """Load a model from a file or from its content."""
        if model_file and model_proto:
            raise ValueError("model_file and model_proto are both given; give one of them")
        if model_proto:
            return self.LoadFromSerializedProto(model_proto)
        if model_file:
            return self.LoadFromFile(model_file)
        raise ValueError("neither model_file nor model_proto is given; give one of them")

    def LoadFromFile(self, arg: Any) -> bool:
        """Load a model from a file."""
        try:
            data = Path(arg).read_bytes()
        except OSError as error:
            raise LoadError(f"Not found: {arg}: {error.strerror}") from error
        self._loaded = Model(data, str(arg))
        return True

    def LoadFromSerializedProto(self, serialized: Any) -> bool:
        """Load a model from its content, or from a ModelProto."""
        if hasattr(serialized, "SerializeToString"):
            serialized = serialized.SerializeToString()
        if not isinstance(serialized, bytes):
            raise TypeError(f"a serialised model must be bytes, not {type(serialized).__name__}")
        self._loaded = Model(serialized)
        return True

    @property
    def _model(self) -> Model:
        if self._loaded is None:
            raise RuntimeError("no model is loaded; call Load() first")
        return self._loaded

    def serialized_model_proto(self) -> bytes:
        """Return the content of the model."""
        return self._model.data

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_loaded"]
        state["model_proto"] = self.serialized_model_proto() if self._loaded else None
        return state

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, bytes):
            state = {"model_proto": state}
        SentencePieceProcessor.__init__(self)
        values = dict(state)
        model = values.pop("model_proto")
        if model is not None:
            self.LoadFromSerializedProto(model)
        self.__dict__.update(values)

    # ---- encoding

    def _resolve(self, return_type: Any, out_type: Any, default: Any = None) -> Any:
        if out_type is not None:
            if return_type is not None:
                raise ValueError("out_type and return_type are both given; give return_type only")
            if out_type == _IMMUTABLE:
                return out_type
            return_type = out_type
        if return_type is None:
            return_type = default if default is not None else self._return_type
        if return_type == _IMMUTABLE and default is None and return_type is self._return_type:
            return return_type
        if return_type not in _RETURN_TYPES:
            raise ValueError(
                f"return_type is {return_type!r}; it must be int, str, bytes or one of "
                + ", ".join(repr(name) for name in _RETURN_TYPES[3:])
            )
        return return_type

    def _given(self, **values: Any) -> list[Any]:
        """Return the arguments, with those of the constructor for the ones that are None."""
        return [getattr(self, f"_{name}") if value is None else value for name, value in values.items()]

    def _pool(self, num_threads: Any, thread_pool: ThreadPool | None) -> int:
        if not isinstance(num_threads, int):
            raise TypeError("num_threads must be int")
        return thread_pool.num_threads() if thread_pool is not None else _threads(num_threads)

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
        if kind == _IMMUTABLE:
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
        return self.Encode(input, out_type=_IMMUTABLE, **kwargs)

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
        return self._sample(input, nbest_size, alpha, kwargs, out_type=_IMMUTABLE)

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
        if kind in ("proto", "serialized_proto", _IMMUTABLE):
            self._check_whole(add_bos, add_eos, reverse, emit_unk_piece)

        def encode(text: Text) -> Any:
            best = self._model.encode_n_best(text, max(nbest_size, 1))
            if kind in ("proto", "serialized_proto", _IMMUTABLE):
                best = [self._with_extras(each) for each in best]
                if kind == "serialized_proto":
                    return n_best_to_bytes(best)
                return n_best_to_message(best, in_characters=kind == _IMMUTABLE and isinstance(text, str))
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
        return self.NBestEncode(input, nbest_size=nbest_size, out_type=_IMMUTABLE, **kwargs)

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
            **{"out_type" if kind == _IMMUTABLE else "return_type": kind},
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

    # ---- samples with scores, and entropy

    def SampleEncodeAndScore(
        self,
        input: Any,
        out_type: Any = None,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        num_samples: int | None = None,
        alpha: float | None = None,
        wor: bool | None = None,
        include_best: bool | None = None,
        return_type: Any = None,
    ) -> Any:
        """Draw segmentations, and return each with the logarithm of its probability. (Before version 0.2.3.)

        With replacement only: `wor=True` and `include_best=True` raise NotImplementedError.
        """
        kind = self._resolve(return_type, out_type)
        add_bos, add_eos, reverse, emit_unk_piece = self._given(
            add_bos=add_bos, add_eos=add_eos, reverse=reverse, emit_unk_piece=emit_unk_piece
        )
        samples = 1 if num_samples is None else num_samples
        smoothing = 1.0 if alpha is None else alpha
        if wor or include_best:
            raise NotImplementedError(
                "SampleEncodeAndScore draws with replacement only; leave out wor and include_best, or use NBestEncode"
            )
        if samples <= 0:
            raise ValueError("num_samples must be positive")
        if kind not in (int, str):
            raise NotImplementedError("SampleEncodeAndScore returns ids or pieces; give out_type=int or out_type=str")
        model = self._model
        if not model.unigram:
            raise RuntimeError("SampleEncodeAndScore is not available for the current model.")

        def encode(text: Text) -> Any:
            total = _lattice.log_total(model, text, smoothing)
            made = []
            for _ in range(samples):
                pieces = model.encode_pieces(text, model.options((-1, smoothing))(0))
                score = smoothing * float(sum(map(float, model.scores_of(pieces)))) - total
                if kind is int:
                    made.append((self._rewrite_ids(pieces.ids, add_bos, add_eos, reverse), score))
                else:
                    texts: Any = self._rewrite_pieces(
                        pieces.ids, pieces.pieces, add_bos, add_eos, reverse, emit_unk_piece
                    )
                    made.append((texts, score))
            return made

        return [encode(text) for text in input] if isinstance(input, list) else encode(input)

    def SampleEncodeAndScoreAsPieces(
        self, input: Any, num_samples: Any = None, alpha: Any = None, **kwargs: Any
    ) -> Any:
        """SampleEncodeAndScore() with out_type=str."""
        return self.SampleEncodeAndScore(input, str, num_samples=num_samples, alpha=alpha, **kwargs)

    def SampleEncodeAndScoreAsIds(self, input: Any, num_samples: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """SampleEncodeAndScore() with out_type=int."""
        return self.SampleEncodeAndScore(input, int, num_samples=num_samples, alpha=alpha, **kwargs)

    def CalculateEntropy(self, input: Any, alpha: float, num_threads: int | None = None) -> Any:
        """Return the entropy of the segmentations of a text, in nats. Unigram models only. (Before version 0.2.3.)"""
        if not self._model.unigram:
            raise RuntimeError("CalculateEntropy is not available for the current model.")
        if not math.isfinite(alpha):
            raise ValueError(f"alpha is {alpha}; it must be a finite number")
        if isinstance(input, list):
            return [_lattice.entropy(self._model, text, alpha) for text in input]
        return _lattice.entropy(self._model, input, alpha)

    # ---- decoding

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
        if not _is_sequence(input):
            input = [input]
        batch = input.ndim > 1 if hasattr(input, "ndim") else len(input) > 0 and _is_sequence(input[0])
        if not batch:
            return self._decode_one(input, kind, return_bytes)
        if getattr(input, "ndim", 2) > 2:
            raise TypeError("ids must be an array of one or two dimensions")
        items = list(input)
        first: Any = next((item for item in items if _is_sequence(item) and len(item)), [])
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
        if kind in ("proto", _IMMUTABLE):
            return decoded.to_message(in_characters=kind == _IMMUTABLE)
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
        return self.Decode(input, out_type=_IMMUTABLE, **kwargs)

    def DecodeIdsAsImmutableProto(self, input: Any, **kwargs: Any) -> Any:
        """Decode() with out_type="immutable_proto"."""
        return self.Decode(input, out_type=_IMMUTABLE, **kwargs)

    # ---- normalisation

    def Normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Return the normalised text, and the offsets in the original text if `with_offsets` is set."""
        return normalize(self._model.text_normalizer, input, with_offsets)

    # ---- the vocabulary

    def _each(self, ids: Any, property: Callable[[int], Any]) -> Any:
        size = len(self._model.pieces)

        def one(id: int) -> Any:
            if not 0 <= id < size:
                raise IndexError(f"piece id is out of range: {id}; ids are 0 to {size - 1}")
            return property(id)

        if _is_sequence(ids):
            return [one(operator.index(id)) for id in ids]
        return one(operator.index(ids))

    def GetPieceSize(self) -> int:
        """Return the number of pieces."""
        return len(self._model.pieces)

    def PieceToId(self, piece: Any) -> Any:
        """Return the id of a piece, or of each; that of `<unk>` for an unknown one."""
        return [self._model.id(each) for each in piece] if _is_sequence(piece) else self._model.id(piece)

    def IdToPiece(self, id: Any) -> Any:
        """Return the piece with this id, or with each."""
        return self._each(id, self._model.pieces.__getitem__)

    def GetScore(self, id: Any) -> Any:
        """Return the score of a piece: the logarithm of its probability, or its rank among the merges."""
        return self._each(id, self._model.scores.__getitem__)

    def _is_type(self, id: Any, type: int) -> Any:
        types = self._model.types
        return self._each(id, lambda each: types[each] == type)

    def IsUnknown(self, id: Any) -> Any:
        """Return whether a piece is the unknown one."""
        return self._is_type(id, UNKNOWN)

    def IsControl(self, id: Any) -> Any:
        """Return whether a piece is a control symbol, such as `<s>`."""
        return self._is_type(id, CONTROL)

    def IsUnused(self, id: Any) -> Any:
        """Return whether a piece is never produced from text."""
        return self._is_type(id, UNUSED)

    def IsByte(self, id: Any) -> Any:
        """Return whether a piece is a byte."""
        return self._is_type(id, BYTE)

    def unk_id(self) -> int:
        """Return the id of the unknown piece, or -1."""
        return self._model.unk_id

    def bos_id(self) -> int:
        """Return the id of the control symbol at the beginning of a text, or -1."""
        return self._model.control_id(self._model.trainer.bos_piece)

    def eos_id(self) -> int:
        """Return the id of the control symbol at the end of a text, or -1."""
        return self._model.control_id(self._model.trainer.eos_piece)

    def pad_id(self) -> int:
        """Return the id of the control symbol for padding, or -1."""
        return self._model.control_id(self._model.trainer.pad_piece)

    piece_size = GetPieceSize
    vocab_size = GetPieceSize

    def __len__(self) -> int:
        return self.GetPieceSize()

    def __getitem__(self, piece: Any) -> Any:
        return self.PieceToId(piece)

    # ---- settings of the C++ interface, and of earlier versions

    def SetEncodeExtraOptions(self, extra_option: str) -> None:
        """Set what each call of Encode() does to its result: names of bos, eos, reverse and unk, joined by colons."""
        self._encode_extra = self._extra_options(extra_option)

    def SetDecodeExtraOptions(self, extra_option: str) -> None:
        """Set what each call of Decode() does to its input: "reverse"."""
        self._decode_extra = self._extra_options(extra_option)

    def _extra_options(self, text: str) -> list[str]:
        names = text.split(":") if text else []
        for name in names:
            if name not in _EXTRA_OPTIONS:
                raise RuntimeError(f'option "{name}" is not available; there are {", ".join(_EXTRA_OPTIONS)}')
        options = [_EXTRA_OPTIONS[name] for name in names]
        for name, id, piece in (
            ("bos", self.bos_id(), self._model.trainer.bos_piece),
            ("eos", self.eos_id(), self._model.trainer.eos_piece),
        ):
            if name in options and id < 0:
                raise RuntimeError(f"id for `{piece}` is not defined.")
        return options

    def _retype(self, type_of: Callable[[str], int]) -> None:
        model = ModelProto.FromString(self._model.data)
        for piece in model.pieces:
            if piece.type in (NORMAL, UNUSED):
                piece.type = type_of(piece.piece)
        self._loaded = Model(model.SerializeToString())

    def SetVocabulary(self, valid_vocab: Iterable[Text]) -> None:
        """Make text become pieces of this vocabulary only. Single characters stay possible."""
        if self._model.trainer.model_type not in (1, 2):
            raise RuntimeError("SetVocabulary is only available for models of type unigram and bpe")
        valid = {piece.decode() if isinstance(piece, bytes) else piece for piece in valid_vocab}
        self._retype(lambda piece: NORMAL if piece in valid or len(piece) == 1 else UNUSED)

    def ResetVocabulary(self) -> None:
        """Undo SetVocabulary()."""
        self._retype(lambda piece: NORMAL)

    def LoadVocabulary(self, filename: Any, threshold: int) -> None:
        """SetVocabulary() with the pieces of a file: lines of a piece and, after a tab, its count."""
        valid = []
        with open(filename, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                parts = line.rstrip("\r\n").split("\t")
                if not parts[0]:
                    raise RuntimeError(f"{filename}:{number}: the line has no piece")
                if len(parts) < 2 or int(parts[1]) >= threshold:
                    valid.append(parts[0])
        self.SetVocabulary(valid)

    def OverrideNormalizerSpec(self, **kwargs: Any) -> None:
        """Change the normalisation of the loaded model: fields of NormalizerSpec as keywords."""
        model = ModelProto.FromString(self._model.data)
        for name, value in kwargs.items():
            setattr(model.normalizer_spec, name, value)
        self._loaded = Model(model.SerializeToString())


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
