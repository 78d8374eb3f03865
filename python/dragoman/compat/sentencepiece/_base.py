"""What all parts of SentencePieceProcessor share: loading, options and the vocabulary."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any, Callable, TypeVar

from ._model import LoadError, Model
from ._texts import normalize
from ._types import BYTE, CONTROL, UNKNOWN, UNUSED

_RETURN_TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")
#: A message whose offsets count characters: the name of versions before 0.2.3.
IMMUTABLE = "immutable_proto"

Text = str | bytes
B = TypeVar("B", bound="Base")


class ThreadPool:
    """A number of threads. The engine keeps its own threads, so a pool holds none."""

    def __init__(self, num_threads: int) -> None:
        self._threads = thread_count(num_threads) or _core_threads()

    def num_threads(self) -> int:
        """Return the number of threads."""
        return self._threads


def _core_threads() -> int:
    return len(os.sched_getaffinity(0))


def thread_count(num_threads: int) -> int:
    """Return the number as the engine takes it: 0 for as many as the process may use."""
    return 0 if num_threads < 0 else max(1, min(num_threads, 1024))


def is_sequence(value: Any) -> bool:
    """Return whether a value is a sequence, and neither a text nor a piece."""
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


class Base:
    """A processor without methods that encode or decode."""

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
    def from_file(cls: type[B], model_file: Any, **kwargs: Any) -> B:
        """Return a processor with the model of a file."""
        cls._check_factory(kwargs)
        made = cls(**kwargs)
        made.LoadFromFile(model_file)
        return made

    @classmethod
    def from_proto(cls: type[B], model_proto: Any, **kwargs: Any) -> B:
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
        Base.__init__(self)
        values = dict(state)
        model = values.pop("model_proto")
        if model is not None:
            self.LoadFromSerializedProto(model)
        self.__dict__.update(values)
    def _resolve(self, return_type: Any, out_type: Any, default: Any = None) -> Any:
        if out_type is not None:
            if return_type is not None:
                raise ValueError("out_type and return_type are both given; give return_type only")
            if out_type == IMMUTABLE:
                return out_type
            return_type = out_type
        if return_type is None:
            return_type = default if default is not None else self._return_type
        if return_type == IMMUTABLE and default is None and return_type is self._return_type:
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
        return thread_pool.num_threads() if thread_pool is not None else thread_count(num_threads)
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

        if is_sequence(ids):
            return [one(operator.index(id)) for id in ids]
        return one(operator.index(ids))

    def GetPieceSize(self) -> int:
        """Return the number of pieces."""
        return len(self._model.pieces)

    def PieceToId(self, piece: Any) -> Any:
        """Return the id of a piece, or of each; that of `<unk>` for an unknown one."""
        return [self._model.id(each) for each in piece] if is_sequence(piece) else self._model.id(piece)

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
