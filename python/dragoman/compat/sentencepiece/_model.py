"""A loaded SentencePiece model: pieces, segmentation and decoding."""

from __future__ import annotations

import codecs
import functools
import random
from typing import Any, Callable, Iterable, Sequence

import numpy as np

from ... import _core
from ..._tokenizer import Tokenizer, _encode_options
from ...errors import Error, UnsupportedError
from ._messages import DecodeError, read_fields
from ._joining import Joining
from ._texts import Pieces, as_bytes
from ._types import BYTE, CONTROL, MARK, NORMAL, REPLACEMENT, UNKNOWN, USER_DEFINED
from .sentencepiece_model_pb2 import ModelProto, NormalizerSpec, TrainerSpec

#: The library's bound on the number of best segmentations.
MAX_N_BEST = 512

#: The engine's options for a text with this number in its list.
OptionsOf = Callable[[int], Any]

_EXACT = _encode_options()
_random = random.Random()
_settings = {"n_best_timeout": 0}


def set_random_generator_seed(seed: int) -> None:
    """Make sampling repeatable from here on."""
    _random.seed(seed)


def set_min_log_level(v: int) -> None:
    """Choose which messages training writes: 0 all of them, 1 warnings, 2 and more none."""
    _settings["log_level"] = int(v)


def log_level() -> int:
    """Return the number that set_min_log_level() was called with, or 0."""
    return _settings.get("log_level", 0)


def set_nbest_timeout(timeout_ms: int) -> None:
    """Bound the time to search for the best segmentations: after it, only the best one is given. 0: no bound."""
    _settings["n_best_timeout"] = int(timeout_ms)


def set_data_dir(data_dir: str) -> None:
    """Do nothing: the normalisation rules are part of the library."""


def _replace_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return REPLACEMENT, error.start + 1


# As the library does, and unlike "replace": each byte that is not part of a character becomes U+FFFD.
codecs.register_error("dragoman_bytewise", _replace_byte)


def _exact(line: int) -> Any:
    return _EXACT


class LoadError(RuntimeError, OSError):
    """A model that cannot be read. (RuntimeError since version 0.2.3 of the package, OSError before.)"""


class Model:
    """A model, immutable.

    Parameters
    ----------
    data
        The serialised ModelProto.
    name
        Its file, for messages.
    """

    def __init__(self, data: bytes, name: str = "model") -> None:
        self.data = data
        try:
            self.trainer, self.normalizer, denormalizer, pieces = _parts(data, name)
        except (DecodeError, Error) as error:
            raise LoadError(f"{name}: not a SentencePiece model: {error}") from error
        if denormalizer is not None and denormalizer.precompiled_charsmap:
            raise NotImplementedError(f"{name}: a model with rules of denormalisation is not supported")
        self.pieces = [piece for piece, _, _ in pieces]
        self.scores = [score for _, score, _ in pieces]
        self.types = [type for _, _, type in pieces]
        self.ids = {piece: id for id, piece in enumerate(self.pieces)}
        self.unk_id = self.types.index(UNKNOWN) if UNKNOWN in self.types else -1
        self.unigram = self.trainer.model_type == TrainerSpec.UNIGRAM
        self.words = self.trainer.model_type == TrainerSpec.WORD
        self.byte_fallback: bool = self.trainer.byte_fallback
        self.text_normalizer = _normalizer(self)
        self.core: Any = None
        if not self.words:
            try:
                self.core = Tokenizer.from_bytes(data, name=name, type="sentencepiece")._core
            except UnsupportedError as error:
                raise NotImplementedError(str(error)) from error
            except Error as error:
                raise LoadError(str(error)) from error

    def control_id(self, piece: str) -> int:
        """Return the id of a control piece, or -1."""
        id = self.ids.get(piece, -1)
        return id if id >= 0 and self.types[id] == CONTROL else -1

    def id(self, piece: str | bytes) -> int:
        """Return the id of a piece; the unknown one for a piece that is not in the vocabulary."""
        if isinstance(piece, bytes):
            piece = piece.decode("utf-8", "replace")
        elif not isinstance(piece, str):
            raise TypeError(f"a piece must be str or bytes, not {type(piece).__name__}")
        return self.ids.get(piece, self.unk_id)

    # ---- encoding

    def _clean(self, text: str | bytes) -> str | bytes:
        """Replace bytes that are not UTF-8, unless the engine does so."""
        if isinstance(text, bytes):
            return text.decode("utf-8", "dragoman_bytewise") if self._keeps_bytes else text
        if isinstance(text, str):
            return text
        raise TypeError(f"a text must be str or bytes, not {type(text).__name__}")

    @property
    def _keeps_bytes(self) -> bool:
        """Whether the engine encodes bytes that are not UTF-8 as they are."""
        return not self.unigram and not self.normalizer.precompiled_charsmap

    def options(self, sampling: tuple[int, float] | None) -> OptionsOf:
        """Return the engine's options; `sampling` is (nbest_size, alpha)."""
        if sampling is None:
            return _exact
        n_best, alpha = sampling
        if not (alpha >= 0 and alpha < float("inf")):
            raise RuntimeError(f"alpha is {alpha}; it must be a number that is 0 or more")
        if n_best > MAX_N_BEST:
            raise RuntimeError(f"nbest_size is {n_best}; it must be at most {MAX_N_BEST}")
        seed = _random.getrandbits(64)
        if self.unigram:
            if n_best in (0, 1):
                return _exact
            return lambda line: _encode_options("sample", alpha=alpha, n_best=max(n_best, 0), seed=seed, line=line)
        if self.trainer.model_type != TrainerSpec.BPE:
            raise RuntimeError("SampleEncode is not available for the current model.")
        return lambda line: _encode_options("dropout", dropout=min(alpha, 1.0), seed=seed, line=line)

    def encode_ids(self, text: str | bytes, options: Any) -> Any:
        """Return the ids of a text as an array."""
        if self.words:
            return np.array(self._word_pieces(as_bytes(text)).ids, np.int32)
        return self.core.encode(self._clean(text), options)

    def encode_ids_batch(self, texts: Sequence[str | bytes], threads: int, options: Any) -> list[Any]:
        """Return the ids of several texts as arrays, views of one."""
        if self.words:
            return [self.encode_ids(text, options) for text in texts]
        ids, offsets = self.core.encode_batch([self._clean(text) for text in texts], threads, options)
        ends = offsets.tolist()
        return [ids[begin:end] for begin, end in zip(ends, ends[1:])]

    def texts_of(self, text: str | bytes, ids: list[int], options: Any) -> list[str]:
        """Return the pieces of ids that encode_ids() gave."""
        if self.unk_id in ids:
            if self.words:
                return self._word_pieces(as_bytes(text)).pieces
            return list(self.core.encode_as_text(self._clean(text), options))
        pieces = self.pieces
        return [pieces[id] for id in ids]

    def encode_pieces(self, text: str | bytes, options: Any) -> Pieces:
        """Return the pieces of a text with offsets."""
        data = as_bytes(text)
        if self.words:
            return self._word_pieces(data)
        clean = self._clean(text)
        ids, spans = self.core.encode_pieces(clean, options)
        listed = ids.tolist()
        if isinstance(text, bytes) and isinstance(clean, str) and len(clean.encode()) != len(data):
            spans = _places_before_cleaning(data)[spans]
        ranges = [(begin, end) for begin, end in spans.tolist()]
        if self._keeps_bytes and data.endswith(b" "):
            # In these models of the engine the last piece represents spaces that are removed at the end, too.
            last = int(self.text_normalizer.normalize(data)[1][-1])
            ranges = [(min(begin, last), min(end, last)) for begin, end in ranges]
        return self._made(data, listed, self.texts_of(text, listed, options), ranges)

    def _made(
        self, data: bytes, ids: list[int], texts: list[str], spans: list[tuple[int, int]], score: float | None = None
    ) -> Pieces:
        surfaces: list[bytes | None] = [data[begin:end] for begin, end in spans]
        if self.byte_fallback:
            # Only the last byte of a character has a surface.
            rest = 0
            for i, id in enumerate(ids):
                if self.types[id] != BYTE:
                    continue
                byte = int(texts[i][3:5], 16)
                rest = rest - 1 if rest else (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
                if rest:
                    surfaces[i] = None
        return Pieces(data, ids, texts, spans, surfaces, score)

    def encode_n_best(self, text: str | bytes, most: int) -> list[Pieces]:
        """Return the best segmentations of a text."""
        if most > MAX_N_BEST:
            raise RuntimeError(f"nbest_size is {most}; it must be at most {MAX_N_BEST}")
        if not self.unigram:
            raise RuntimeError("NBestEncode is not available for the current model.")
        data = as_bytes(text)
        found = _core.n_best_pieces(self.core, data, most, _settings["n_best_timeout"])
        # The library adds numbers of 32 bits from the right, after a timeout from the left, and has no score of a single
        # segmentation.
        step = 1 if _settings["n_best_timeout"] and len(found) == 1 else -1
        made = []
        for ids, texts, spans, _ in found:
            pieces = self._made(data, list(ids), list(texts), list(spans))
            score = np.float32(0)
            for each in self.scores_of(pieces)[::step] if most > 1 else ():
                score += each
            made.append(pieces._replace(score=float(score)))
        return made

    @functools.cached_property
    def text_scores(self) -> tuple[dict[str, float], float]:
        """The score of each piece that text becomes in a unigram model, and that of an unknown character."""
        scores = {}
        for piece, score, type in zip(self.pieces, self.scores, self.types):
            if type == NORMAL:
                scores[piece] = score
            elif type == USER_DEFINED:
                scores[piece] = float(np.float32(0.1 * (len(piece) - 1)))
        least = min((score for score, type in zip(self.scores, self.types) if type == NORMAL), default=0.0)
        return scores, float(np.float32(least) - np.float32(10))

    def scores_of(self, pieces: Pieces) -> list[Any]:
        """Return the scores of the pieces of a segmentation, and of each unknown character, from left to right."""
        scores, unknown = self.text_scores
        found: list[Any] = []
        for id, piece, surface in zip(pieces.ids, pieces.pieces, pieces.surfaces):
            if id == self.unk_id:
                found += [np.float32(unknown)] * len(piece)
            elif self.types[id] != BYTE:
                found.append(np.float32(scores[piece]))
            elif surface is not None:
                # The last byte of an unknown character.
                found.append(np.float32(unknown))
        return found

    def _word_pieces(self, data: bytes) -> Pieces:
        normal, origin = self.text_normalizer.normalize(data)
        ids: list[int] = []
        texts: list[str] = []
        spans: list[tuple[int, int]] = []
        begin = 0
        for word in split_words(normal.decode()):
            end = begin + len(word.encode())
            id = self.ids.get(word, self.unk_id)
            if ids and id == ids[-1] == self.unk_id:
                # A run of unknown words is one piece.
                texts[-1] += word
                spans[-1] = spans[-1][0], int(origin[end])
            else:
                ids.append(id)
                texts.append(word)
                spans.append((int(origin[begin]), int(origin[end])))
            begin = end
        return self._made(data, ids, texts, spans)

    # ---- decoding

    def decode_ids(self, ids: Any) -> bytes:
        """Return the text of ids: an array of 32 bits, or a list of numbers."""
        if self.unigram or not self._has_unknown(ids):
            if self.core is not None:
                try:
                    return bytes(self.core.decode_to_bytes(ids))
                except Error as error:
                    raise IndexError(str(error)) from error
        listed = [int(id) for id in ids]
        return self.decode_pieces([self.pieces[id] for id in listed], listed).text

    def _has_unknown(self, ids: Any) -> bool:
        return self.unk_id >= 0 and bool(np.any(np.asarray(ids) == self.unk_id))

    def decode_pieces(self, pieces: Iterable[str | bytes], ids: Sequence[int] | None = None) -> Pieces:
        """Return the text of pieces, and which part of it each represents."""
        names = [piece.decode("utf-8", "replace") if isinstance(piece, bytes) else piece for piece in pieces]
        known = [self.id(name) for name in names] if ids is None else list(ids)
        return Joining(self).run(names, known)


def split_words(text: str) -> list[str]:
    """Return the words of a normalised text. Each begins with a mark, except at the beginning of the text."""
    first, *others = text.split(MARK)
    return [first] * bool(first) + [MARK + part for part in others]


def _places_before_cleaning(data: bytes) -> Any:
    """Return, for each byte of the cleaned text and for its end, where it was in the text."""
    places: list[int] = []
    at = 0
    for character in data.decode("utf-8", "dragoman_bytewise"):
        size = len(character.encode())
        length = size if data[at : at + size] == character.encode() else 1
        places += [at] * size if length == 1 else range(at, at + size)
        at += length
    return np.array([*places, at])


def _normalizer(model: Model) -> Any:
    spec = model.normalizer
    symbols = [piece for piece, type in zip(model.pieces, model.types) if type == USER_DEFINED]
    return _core.TextNormalizer(
        spec.precompiled_charsmap,
        spec.add_dummy_prefix,
        spec.remove_extra_whitespaces,
        spec.escape_whitespaces,
        model.trainer.treat_whitespace_as_suffix,
        symbols,
    )


def _parts(data: bytes, name: str) -> tuple[Any, Any, Any, list[tuple[str, float, int]]]:
    """Return trainer_spec, normalizer_spec, denormalizer_spec and the pieces of a model."""
    trainer, normalizer, denormalizer = TrainerSpec(), NormalizerSpec(), None
    for number, wire, value, _, _ in read_fields(data):
        if wire != 2:
            continue
        if number == 2:
            trainer.MergeFromString(value)
        elif number == 3:
            normalizer.MergeFromString(value)
        elif number == 5:
            denormalizer = NormalizerSpec.FromString(value)
    if trainer.model_type in (TrainerSpec.UNIGRAM, TrainerSpec.BPE):
        pieces = _core.sentencepiece_pieces(data, name)
    else:
        pieces = [(piece.piece, piece.score, piece.type) for piece in ModelProto.FromString(data).pieces]
    return trainer, normalizer, denormalizer, pieces
