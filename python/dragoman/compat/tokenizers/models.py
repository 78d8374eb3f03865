"""Models: descriptions of the model of a tokenizer.json."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence as SequenceType, Union

from ._checks import ignore_unknown, text, token_id
from ._parts import Component, Key, Part, engine_of
from ._strings import Token

Vocab = dict[str, int]
Merges = list[tuple[str, str]]
PathLike = Union[str, "os.PathLike[str]"]


class Model(Component):
    """The base of all models."""

    _by_id: Optional[dict[int, str]] = None

    def _touch(self) -> None:
        super()._touch()
        self._by_id = None

    def _vocab(self) -> Vocab:
        vocab: Vocab = self._part["vocab"]
        return vocab

    def _token(self, id: int) -> Optional[str]:
        if self._by_id is None:
            self._by_id = {each: token for token, each in self._vocab().items()}
        return self._by_id.get(id)

    def token_to_id(self, token: str) -> Optional[int]:
        """Return the id of a token, or None."""
        return self._vocab().get(text(token, "token"))

    def id_to_token(self, id: int) -> Optional[str]:
        """Return the token with an id, or None."""
        return self._token(token_id(id, "id"))

    def _check_encodes(self) -> None:
        """Raise NotImplementedError if encoding would differ from the package."""

    def tokenize(self, sequence: str) -> list[Token]:
        """Return the tokens of a word. Their offsets are bytes of UTF-8."""
        self._check_encodes()
        ids, offsets, _, texts = engine_of(model=self._to_part()).details(sequence)
        places = list(itertools.accumulate((len(character.encode()) for character in sequence), initial=0))
        return [
            Token(id, texts.get(i, self._token(id) or ""), (places[begin], places[end]))
            for i, (id, (begin, end)) in enumerate(zip(ids, offsets))
        ]

    def get_trainer(self) -> Any:
        """Return a trainer for this type of model."""
        from . import trainers

        return trainers.trainer_of(self)

    def save(self, folder: PathLike, prefix: Optional[str] = None, name: Optional[str] = None) -> list[str]:
        """Write the files of the model and return their names."""
        raise NotImplementedError

    def _file(self, folder: PathLike, prefix: Optional[str], name: str) -> Path:
        return Path(folder) / (f"{prefix}-{name}" if prefix else name)


def _in_order(vocab: Mapping[str, int]) -> Vocab:
    return dict(sorted(vocab.items(), key=lambda item: item[1]))


class BPE(Model):
    """Byte pair encoding.

    Parameters
    ----------
    vocab
        The ids of the tokens, or the name of a vocab.json.
    merges
        The pairs to merge, in order, or the name of a merges.txt.
    dropout
        The probability that a possible merge is skipped (BPE-dropout, Provilkov et al. 2020). The package draws again
        for skipped merges, so it skips fewer.
    """

    defaults = {
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
    }
    dropout = Key[Optional[float]]()
    unk_token = Key[Optional[str]]()
    continuing_subword_prefix = Key[Optional[str]]()
    end_of_word_suffix = Key[Optional[str]]()
    fuse_unk = Key[bool]()
    byte_fallback = Key[bool]()
    ignore_merges = Key[bool]()

    def __init__(
        self,
        vocab: Union[Mapping[str, int], str, None] = None,
        merges: Union[SequenceType[tuple[str, str]], str, None] = None,
        **options: Any,
    ) -> None:
        if (vocab is None) != (merges is None):
            raise ValueError("`vocab` and `merges` must be both specified")
        if isinstance(vocab, str) or isinstance(merges, str):
            vocab, merges = BPE.read_file(str(vocab), str(merges))
        options.pop("cache_capacity", None)
        options = ignore_unknown(options, self.defaults)
        self._set(
            **{**self.defaults, **{key: value for key, value in options.items() if value is not None}},
            vocab=_in_order(vocab or {}),
            merges=[(left, right) for left, right in merges or ()],
        )
        _check_merges(self._part)

    def _load(self, part: Part) -> None:
        super()._load(part)
        self._part["vocab"] = _in_order(part.get("vocab", {}))
        self._part["merges"] = [_merge(each) for each in part.get("merges", ()) if not _is_header(each)]
        _check_merges(self._part)

    @staticmethod
    def read_file(vocab: PathLike, merges: PathLike) -> tuple[Vocab, Merges]:
        """Read a vocab.json and a merges.txt."""
        with open(vocab, encoding="utf-8") as file:
            ids: Vocab = json.load(file)
        with open(merges, encoding="utf-8", newline="\n") as file:
            lines = [line.rstrip("\r\n") for line in file]
        pairs = [_merge(line) for line in lines if line and not _is_header(line)]
        return ids, pairs

    @classmethod
    def from_file(cls, vocab: PathLike, merges: PathLike, **options: Any) -> BPE:
        """Make a model of a vocab.json and a merges.txt."""
        return cls(*cls.read_file(vocab, merges), **options)

    def save(self, folder: PathLike, prefix: Optional[str] = None, name: Optional[str] = None) -> list[str]:
        """Write vocab.json and merges.txt."""
        vocab, merges = (self._file(folder, prefix or name, each) for each in ("vocab.json", "merges.txt"))
        vocab.write_text(json.dumps(self._vocab(), ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
        lines = ["#version: 0.2", *(f"{left} {right}" for left, right in self._part["merges"])]
        merges.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [str(vocab), str(merges)]


def _is_header(merge: Any) -> bool:
    return isinstance(merge, str) and merge.startswith("#version")


def _merge(value: Any) -> tuple[str, str]:
    left, right = value.split(" ") if isinstance(value, str) else value
    return left, right


def _check_merges(part: Part) -> None:
    vocab, cut = part["vocab"], len(part["continuing_subword_prefix"] or "")
    for left, right in part["merges"]:
        for token in (left, right, left + right[cut:]):
            if token not in vocab:
                raise ValueError(f"Error while initializing BPE: Token `{token}` out of vocabulary")


class Unigram(Model):
    """The most probable tokens of a word.

    Parameters
    ----------
    vocab
        The tokens with the logarithms of their probabilities.
    unk_id
        The index of the unknown token.
    alpha, nbest_size
        How segmentations are drawn. They can be described; a tokenizer that would draw is refused when it encodes.
    """

    defaults = {"unk_id": None, "byte_fallback": False}
    nbest_size: Optional[int] = None
    _alpha: Optional[float] = None

    @property
    def alpha(self) -> Optional[float]:
        """The smoothing of drawn segmentations; None: the most probable tokens."""
        return self._alpha

    @alpha.setter
    def alpha(self, alpha: Optional[float]) -> None:
        self._alpha = alpha
        self._touch()

    def __init__(
        self,
        vocab: Optional[SequenceType[tuple[str, float]]] = None,
        unk_id: Optional[int] = None,
        byte_fallback: Optional[bool] = None,
        alpha: Optional[float] = None,
        nbest_size: Optional[int] = None,
    ) -> None:
        if vocab is None:
            vocab, unk_id = [("<unk>", 0.0)], 0
        self._set(
            unk_id=unk_id,
            vocab=[(token, float(score)) for token, score in vocab],
            byte_fallback=bool(byte_fallback),
        )
        self.alpha, self.nbest_size = alpha, nbest_size

    def _load(self, part: Part) -> None:
        vocab = [(token, float(score)) for token, score in part["vocab"]]
        self._part = {"type": "Unigram", "unk_id": None, **part, "vocab": vocab}
        self._part.setdefault("byte_fallback", False)
        self._touch()

    def _check_encodes(self) -> None:
        if self._alpha and self.nbest_size != 1:
            raise NotImplementedError(
                "a Unigram model with `alpha` draws its tokens, which is not supported; dragoman.Tokenizer covers it for "
                'SentencePiece models: encode(text, mode="sample", alpha=...)'
            )

    _ids: Optional[Vocab] = None

    def _touch(self) -> None:
        super()._touch()
        self._ids = None

    def _vocab(self) -> Vocab:
        if self._ids is None:
            self._ids = {token: id for id, (token, _) in enumerate(self._part["vocab"])}
        return self._ids

    def save(self, folder: PathLike, prefix: Optional[str] = None, name: Optional[str] = None) -> list[str]:
        """Write unigram.json."""
        file = self._file(folder, prefix or name, "unigram.json")
        file.write_text(json.dumps(self._part, ensure_ascii=False, indent=2), encoding="utf-8")
        return [str(file)]


class WordPiece(Model):
    """The longest token from the left, again and again.

    Parameters
    ----------
    vocab
        The ids of the tokens, or the name of a vocab.txt.
    """

    defaults = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    unk_token = Key[str]()
    continuing_subword_prefix = Key[str]()
    max_input_chars_per_word = Key[int]()

    def __init__(self, vocab: Union[Mapping[str, int], str, None] = None, **options: Any) -> None:
        if isinstance(vocab, str):
            vocab = WordPiece.read_file(vocab)
        options = ignore_unknown(options, self.defaults)
        self._set(**{**self.defaults, **options}, vocab=_in_order(vocab or {}))

    def _load(self, part: Part) -> None:
        super()._load({**part, "vocab": _in_order(part["vocab"])})

    @staticmethod
    def read_file(vocab: PathLike) -> Vocab:
        """Read a vocab.txt."""
        with open(vocab, encoding="utf-8", newline="\n") as file:
            return {line.rstrip("\r\n"): id for id, line in enumerate(file)}

    @classmethod
    def from_file(cls, vocab: PathLike, **options: Any) -> WordPiece:
        """Make a model of a vocab.txt."""
        return cls(cls.read_file(vocab), **options)

    def save(self, folder: PathLike, prefix: Optional[str] = None, name: Optional[str] = None) -> list[str]:
        """Write vocab.txt."""
        file = self._file(folder, prefix or name, "vocab.txt")
        file.write_text("".join(f"{token}\n" for token in self._vocab()), encoding="utf-8")
        return [str(file)]


class WordLevel(Model):
    """Each word is a token.

    Parameters
    ----------
    vocab
        The ids of the tokens, or the name of a vocab.json.
    """

    defaults = {"unk_token": "<unk>"}
    unk_token = Key[str]()

    def __init__(
        self, vocab: Union[Mapping[str, int], str, None] = None, unk_token: Optional[str] = None
    ) -> None:
        if isinstance(vocab, str):
            vocab = WordLevel.read_file(vocab)
        self._set(vocab=_in_order(vocab or {}), unk_token="<unk>" if unk_token is None else unk_token)

    def _load(self, part: Part) -> None:
        super()._load({**part, "vocab": _in_order(part["vocab"])})

    @staticmethod
    def read_file(vocab: PathLike) -> Vocab:
        """Read a vocab.json."""
        with open(vocab, encoding="utf-8") as file:
            ids: Vocab = json.load(file)
            return ids

    @classmethod
    def from_file(cls, vocab: PathLike, unk_token: Optional[str] = None) -> WordLevel:
        """Make a model of a vocab.json."""
        return cls(cls.read_file(vocab), unk_token)

    def save(self, folder: PathLike, prefix: Optional[str] = None, name: Optional[str] = None) -> list[str]:
        """Write vocab.json."""
        file = self._file(folder, prefix or name, "vocab.json")
        file.write_text(json.dumps(self._vocab(), ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
        return [str(file)]
