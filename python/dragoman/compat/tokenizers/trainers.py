"""Trainers: how the model of a tokenizer is learned.

`BpeTrainer`, `WordPieceTrainer` and `WordLevelTrainer` learn what the package `tokenizers` learns. With a prefix or a
suffix, that package gives ids in a random order, and here the order is fixed. `UnigramTrainer` uses Dragoman's learner,
which counts and prunes differently, so its vocabulary differs.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence

from ._added_token import AddedToken
from ._bpe_learning import Learned, learn
from ._engine import Engine
from ._parts import engine_of
from .models import BPE, Model, PathLike, Unigram, WordLevel, WordPiece
from .normalizers import Normalizer
from .pre_tokenizers import PreTokenizer

Counts = Mapping[str, int]


def _added(token: Any) -> AddedToken:
    if isinstance(token, str):
        return AddedToken(token, special=True)
    if not isinstance(token, AddedToken):
        raise TypeError("Special tokens must be a List[Union[str, AddedToken]]")
    made = token._copy()
    made.special = True
    return made


class Trainer:
    """The base of all trainers."""

    special_tokens: list[AddedToken]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "special_tokens":
            value = [_added(token) for token in value]
        elif name == "initial_alphabet":
            value = [character[0] for character in value if character]
        super().__setattr__(name, value)

    def _set(self, defaults: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in defaults:
                print(f"Ignored unknown kwargs option {name}")
        for name, value in defaults.items():
            setattr(self, name, given.get(name, value))

    def _check(self, model: Model) -> None:
        """Refuse a model of another type."""
        name = type(self).__name__
        type_of_model = "BPE" if name == "BpeTrainer" else name.removesuffix("Trainer")
        if type(model).__name__ != type_of_model:
            raise TypeError(f"{name} can only train a {type_of_model}")

    def _train(self, words: Counts, model: Model) -> tuple[Model, list[AddedToken]]:
        """Return the learned model and the special tokens."""
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        state = dict(vars(self))
        state["special_tokens"] = [token._fields() for token in self.special_tokens]
        return state

    def __getstate__(self) -> bytes:
        state = {type(self).__name__: {**self._state(), "words": {}}}
        return json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        values = json.loads(state)[type(self).__name__]
        values.pop("words", None)
        for name, value in values.items():
            setattr(self, name, [AddedToken(**token) for token in value] if name == "special_tokens" else value)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in self._state().items())
        return f"{type(self).__name__}({fields})"


class BpeTrainer(Trainer):
    """Learns byte pair encoding.

    Parameters
    ----------
    vocab_size
        The number of tokens, special tokens and the alphabet included.
    min_frequency
        Pairs that occur less often are not merged.
    special_tokens
        Tokens that get the first ids.
    limit_alphabet
        The largest number of characters; the rarest are left out.
    initial_alphabet
        Characters that are in the alphabet in any case.
    continuing_subword_prefix, end_of_word_suffix
        The marks of tokens inside a word and at its end.
    max_token_length
        The largest length of a token.
    """

    _DEFAULTS: Mapping[str, Any] = {
        "min_frequency": 0,
        "vocab_size": 30000,
        "show_progress": True,
        "progress_format": "Indicatif",
        "special_tokens": (),
        "limit_alphabet": None,
        "initial_alphabet": (),
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "max_token_length": None,
    }
    vocab_size: int
    min_frequency: int
    limit_alphabet: Optional[int]
    initial_alphabet: list[str]
    continuing_subword_prefix: Optional[str]
    end_of_word_suffix: Optional[str]
    max_token_length: Optional[int]

    def __init__(self, **options: Any) -> None:
        self._set(self._DEFAULTS, options)

    def _learn(self, words: Counts) -> Learned:
        return learn(
            words,
            vocab_size=self.vocab_size,
            min_frequency=self.min_frequency,
            special_tokens=[token.content for token in self.special_tokens],
            limit_alphabet=self.limit_alphabet,
            initial_alphabet=self.initial_alphabet,
            prefix=self.continuing_subword_prefix or "",
            suffix=self.end_of_word_suffix or "",
            max_token_length=self.max_token_length,
        )

    def _train(self, words: Counts, model: Model) -> tuple[Model, list[AddedToken]]:
        learned = self._learn(words)
        options = {name: model._part[name] for name in BPE.defaults}
        options["continuing_subword_prefix"] = self.continuing_subword_prefix
        options["end_of_word_suffix"] = self.end_of_word_suffix
        return BPE(learned.vocab, learned.merges, **options), self.special_tokens


    def get_word_count(self) -> int:
        """Not supported: a trainer keeps no words."""
        raise NotImplementedError("get_word_count() is not supported; count the words of pre_tokenize_str() instead")


class ParityBpeTrainer(Trainer):
    """Not supported."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("ParityBpeTrainer is not supported; BpeTrainer learns from texts of all languages")


class WordPieceTrainer(BpeTrainer):
    """Learns tokens as `BpeTrainer` does, for a model WordPiece."""

    #: The package has neither a largest length nor a form of progress for this trainer.
    _DEFAULTS = {
        name: "##" if name == "continuing_subword_prefix" else value
        for name, value in BpeTrainer._DEFAULTS.items()
        if name not in ("max_token_length", "progress_format")
    }
    max_token_length = None

    def __getstate__(self) -> bytes:
        state = {"WordPieceTrainer": {"bpe_trainer": {**self._state(), "words": {}}}}
        return json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        values = json.loads(state)["WordPieceTrainer"]["bpe_trainer"]
        super().__setstate__(json.dumps({"WordPieceTrainer": values}).encode())

    def _train(self, words: Counts, model: Model) -> tuple[Model, list[AddedToken]]:
        options = {name: model._part[name] for name in WordPiece.defaults}
        options["continuing_subword_prefix"] = self.continuing_subword_prefix or ""
        return WordPiece(self._learn(words).vocab, **options), self.special_tokens


class WordLevelTrainer(Trainer):
    """Takes the most frequent words."""

    vocab_size: int
    min_frequency: int

    def __init__(self, **options: Any) -> None:
        defaults = {"min_frequency": 0, "vocab_size": 30000, "show_progress": True, "special_tokens": ()}
        self._set(defaults, options)

    def _train(self, words: Counts, model: Model) -> tuple[Model, list[AddedToken]]:
        frequent = sorted((word for word in words if words[word] >= self.min_frequency), key=lambda w: (-words[w], w))
        tokens = dict.fromkeys([*(token.content for token in self.special_tokens), *frequent])
        vocab = {token: id for id, token in zip(range(self.vocab_size), tokens)}
        return WordLevel(vocab, model._part["unk_token"]), self.special_tokens


class UnigramTrainer(Trainer):
    """Learns a unigram model with Dragoman's learner.

    Parameters
    ----------
    vocab_size
        The number of tokens.
    shrinking_factor
        The share of the tokens that each pruning keeps.
    unk_token
        The unknown token.
    max_piece_length
        The largest length of a token.
    n_sub_iterations
        The rounds of expectation maximisation before each pruning.
    """

    vocab_size: int
    n_sub_iterations: int
    shrinking_factor: float
    initial_alphabet: list[str]
    unk_token: Optional[str]
    max_piece_length: int
    seed_size: int

    def __init__(self, **options: Any) -> None:
        defaults = {
            "show_progress": True,
            "vocab_size": 8000,
            "n_sub_iterations": 2,
            "shrinking_factor": 0.75,
            "special_tokens": (),
            "initial_alphabet": (),
            "unk_token": None,
            "max_piece_length": 16,
            "seed_size": 1000000,
        }
        self._set(defaults, options)

    def _train(self, words: Counts, model: Model) -> tuple[Model, list[AddedToken]]:
        from ._unigram_learning import learn_pieces

        special = [token.content for token in self.special_tokens]
        unknown = special.index(self.unk_token) if self.unk_token in special else None
        if self.unk_token is not None and unknown is None:
            special, unknown = [self.unk_token, *special], 0
        pieces = learn_pieces(words, self, special)
        return Unigram([*((token, 0.0) for token in special), *pieces], unknown), self.special_tokens


def trainer_of(model: Model) -> Trainer:
    """Return the trainer for the type of a model."""
    trainers: dict[type[Model], type[Trainer]] = {
        BPE: BpeTrainer,
        Unigram: UnigramTrainer,
        WordPiece: WordPieceTrainer,
        WordLevel: WordLevelTrainer,
    }
    return trainers[type(model)]()


def lines_of(files: Sequence[PathLike]) -> Iterator[str]:
    """Yield the lines of text files with their ends."""
    for file in files:
        with open(Path(file), "rb") as lines:
            for line in lines:
                yield line.decode("utf-8")


def words_of(
    texts: Iterable[str], normalizer: Optional[Normalizer], pre_tokenizer: Optional[PreTokenizer]
) -> Counts:
    """Count the words of texts."""
    counts: Counter[str] = Counter()
    if normalizer is None and pre_tokenizer is None:
        counts.update(texts)
    else:
        parts = {
            "normalizer": None if normalizer is None else normalizer._to_part(),
            "pre_tokenizer": None if pre_tokenizer is None else pre_tokenizer._to_part(),
        }
        engine: Engine = engine_of(**parts)
        for text in texts:
            counts.update(word for word, _ in engine.words(text))
    counts.pop("", None)
    return counts
