"""SentencePieceProcessor."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterable

from . import _lattice
from ._base import Base, Text
from ._decoding import Decoding
from ._encoding import Encoding
from ._model import Model
from ._types import NORMAL, UNUSED
from .sentencepiece_model_pb2 import ModelProto

_EXTRA_OPTIONS = {"bos": "bos", "eos": "eos", "reverse": "reverse", "unk": "unk", "unk_piece": "unk"}


class SentencePieceProcessor(Encoding, Decoding):
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

    # ---- the same methods in the other spelling

    Tokenize = tokenize = Encoding.Encode
    Detokenize = detokenize = Decoding.Decode
    load = Base.Load
    load_from_file = Base.LoadFromFile
    load_from_serialized_proto = Base.LoadFromSerializedProto
    normalize = Base.Normalize
    get_piece_size = Base.GetPieceSize
    piece_to_id = Base.PieceToId
    id_to_piece = Base.IdToPiece
    get_score = Base.GetScore
    is_unknown = Base.IsUnknown
    is_control = Base.IsControl
    is_unused = Base.IsUnused
    is_byte = Base.IsByte
    encode = Encoding.Encode
    encode_as_pieces = Encoding.EncodeAsPieces
    encode_as_ids = Encoding.EncodeAsIds
    encode_as_numpy = Encoding.EncodeAsNumpy
    encode_as_proto = Encoding.EncodeAsProto
    encode_as_serialized_proto = Encoding.EncodeAsSerializedProto
    encode_as_immutable_proto = Encoding.EncodeAsImmutableProto
    encode_as_offset_mapping = Encoding.EncodeAsOffsetMapping
    sample_encode_as_pieces = Encoding.SampleEncodeAsPieces
    sample_encode_as_ids = Encoding.SampleEncodeAsIds
    sample_encode_as_numpy = Encoding.SampleEncodeAsNumpy
    sample_encode_as_proto = Encoding.SampleEncodeAsProto
    sample_encode_as_serialized_proto = Encoding.SampleEncodeAsSerializedProto
    sample_encode_as_immutable_proto = Encoding.SampleEncodeAsImmutableProto
    nbest_encode = Encoding.NBestEncode
    nbest_encode_as_pieces = Encoding.NBestEncodeAsPieces
    nbest_encode_as_ids = Encoding.NBestEncodeAsIds
    nbest_encode_as_numpy = Encoding.NBestEncodeAsNumpy
    nbest_encode_as_proto = Encoding.NBestEncodeAsProto
    nbest_encode_as_serialized_proto = Encoding.NBestEncodeAsSerializedProto
    nbest_encode_as_immutable_proto = Encoding.NBestEncodeAsImmutableProto
    parallel_encode = Encoding.ParallelEncode
    parallel_encode_as_pieces = Encoding.ParallelEncodeAsPieces
    parallel_encode_as_ids = Encoding.ParallelEncodeAsIds
    parallel_encode_as_numpy = Encoding.ParallelEncodeAsNumpy
    parallel_encode_as_proto = Encoding.ParallelEncodeAsProto
    decode = Decoding.Decode
    decode_pieces = Decoding.DecodePieces
    decode_ids = Decoding.DecodeIds
    decode_pieces_as_proto = Decoding.DecodePiecesAsProto
    decode_ids_as_proto = Decoding.DecodeIdsAsProto
    decode_pieces_as_serialized_proto = Decoding.DecodePiecesAsSerializedProto
    decode_ids_as_serialized_proto = Decoding.DecodeIdsAsSerializedProto
    decode_pieces_as_immutable_proto = Decoding.DecodePiecesAsImmutableProto
    decode_ids_as_immutable_proto = Decoding.DecodeIdsAsImmutableProto
    sample_encode_and_score = SampleEncodeAndScore
    sample_encode_and_score_as_pieces = SampleEncodeAndScoreAsPieces
    sample_encode_and_score_as_ids = SampleEncodeAndScoreAsIds
    calculate_entropy = CalculateEntropy
    set_encode_extra_options = SetEncodeExtraOptions
    set_decode_extra_options = SetDecodeExtraOptions
    set_vocabulary = SetVocabulary
    reset_vocabulary = ResetVocabulary
    load_vocabulary = LoadVocabulary
    override_normalizer_spec = OverrideNormalizerSpec
