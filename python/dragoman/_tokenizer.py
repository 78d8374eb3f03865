"""Tokenizers: text to token ids and back."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple, Sequence, Union, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import TypedDict, Unpack

from . import _core
from ._options import (
    LearnBpeOptions,
    LearnUnigramOptions,
    LogFunction,
    ProgressFunction,
    described_options,
    log_function,
    progress_function,
    several,
    to_json,
)
from ._temporary import temporary_folder
from .errors import UnsupportedError

PathLike = Union[str, "os.PathLike[str]"]
Text = Union[str, bytes]
Ids = npt.NDArray[np.int32]


class EncodedBatch(Sequence[Ids]):
    """The ids of several texts in one array; a sequence with one array per text.

    The arrays are views: nothing is copied.

    Attributes
    ----------
    ids
        The ids of all texts, one text after the other.
    offsets
        One more number than texts: text i has the ids `ids[offsets[i]:offsets[i + 1]]`.
    """

    __slots__ = ("ids", "offsets")

    def __init__(self, ids: Ids, offsets: npt.NDArray[np.int64]) -> None:
        self.ids = ids
        self.offsets = offsets

    def __len__(self) -> int:
        return max(len(self.offsets) - 1, 0)

    @overload
    def __getitem__(self, index: int) -> Ids: ...
    @overload
    def __getitem__(self, index: slice) -> list[Ids]: ...
    def __getitem__(self, index: int | slice) -> Ids | list[Ids]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"there is no text {index}; there are {len(self)}")
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[Ids]:
        ends = self.offsets.tolist()
        return (self.ids[begin:end] for begin, end in zip(ends, ends[1:]))

    def tolist(self) -> list[list[int]]:
        """Return the ids as lists."""
        ids, ends = self.ids.tolist(), self.offsets.tolist()
        return [ids[begin:end] for begin, end in zip(ends, ends[1:])]


class Offsets(NamedTuple):
    """The ids of a text, and the part of the text that each represents.

    Attributes
    ----------
    ids
        The token ids.
    spans
        An array of shape (tokens, 2): begin and end of each token, in characters of a str and in bytes of a bytes.
    """

    ids: Ids
    spans: npt.NDArray[np.int64]


class EncodeOptions(TypedDict, total=False):
    """The options of encoding.

    Attributes
    ----------
    mode
        "exact" (the default); "greedy" (the longest matching token); "dropout" (BPE-dropout); "sample" (unigram models:
        a random segmentation by its probability).
    dropout
        For "dropout": the probability that a merge is skipped. Default: 0.1.
    alpha, n_best
        For "sample": the smoothing (default: 0.1), and the number of best segmentations to draw from (default: 0, all).
    seed, line
        Random draws are a function of these two. Default: 0.
    match_special_tokens
        Whether special tokens such as `</s>` are recognised in the text. Default: False.
    """

    mode: str
    dropout: float
    alpha: float
    n_best: int
    seed: int
    line: int
    match_special_tokens: bool


def _encode_options(
    mode: str = "exact",
    dropout: float = 0.1,
    alpha: float = 0.1,
    n_best: int = 0,
    seed: int = 0,
    line: int = 0,
    match_special_tokens: bool = False,
) -> _core.EncodeOptions:
    return _core.EncodeOptions(mode, dropout, alpha, n_best, seed, line, match_special_tokens)


class Tokenizer:
    """Converts text to tokens and back. Immutable, so threads may share it, and it survives a fork.

    Parameters
    ----------
    file
        A tokenizer file in any format that Dragoman reads: tokenizer.json, a SentencePiece model, codes of subword-nmt,
        a tiktoken rank file and others. The format is recognised by the content.
    type, **options
        The kind of the file, if the content does not tell (a kind of a plugin), and options of that kind.

    Examples
    --------
    >>> tokenizer = Tokenizer("examples/multi30k/model/tokenizer.json")
    >>> ids = tokenizer.encode("Ein Hund läuft.")
    >>> tokenizer.decode(ids)
    'Ein Hund läuft.'
    """

    __slots__ = ("_core", "_opened", "__weakref__")

    def __init__(self, file: PathLike, *, type: str = "", **options: Any) -> None:
        self._core = _core.Tokenizer.open(Path(file), type, to_json(options))
        #: How another process opens it; None where its content says all.
        self._opened: tuple[str, str, dict[str, Any]] | None = (os.path.abspath(file), type, options)

    @classmethod
    def _wrap(cls, core: _core.Tokenizer) -> Tokenizer:
        made = cls.__new__(cls)
        made._core = core
        made._opened = None
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies go to other processes as the content of the file, or as its path where that does not say all."""
        try:
            return Tokenizer.from_bytes, (self._core.to_bytes(),)
        except UnsupportedError:
            if self._opened is None:
                raise
        return _reopen, self._opened

    @classmethod
    def open(cls, file: PathLike, *, type: str = "", **options: Any) -> Tokenizer:
        """Open a tokenizer file; the same as `Tokenizer(file)`."""
        return cls(file, type=type, **options)

    @classmethod
    def from_bytes(cls, content: Text, *, name: str = "tokenizer", type: str = "", **options: Any) -> Tokenizer:
        """Make a tokenizer of the content of a file. Messages call it `name`."""
        return cls._wrap(_core.Tokenizer.from_content(content, name, type, to_json(options)))

    @property
    def vocab_size(self) -> int:
        """The number of tokens. Ids are 0 to vocab_size - 1."""
        return self._core.size()

    def __len__(self) -> int:
        return self._core.size()

    def __repr__(self) -> str:
        return f"<dragoman.Tokenizer with {len(self)} tokens>"

    def encode(self, text: Text, **options: Unpack[EncodeOptions]) -> Ids:
        """Return the token ids of one text, without special tokens.

        Parameters
        ----------
        text
            A str, or UTF-8 as bytes.
        **options
            How to encode: see `EncodeOptions`.

        Examples
        --------
        >>> tokenizer = Tokenizer("examples/multi30k/model/tokenizer.json")
        >>> tokenizer.encode("Ein Hund.").dtype
        dtype('int32')
        """
        return self._core.encode(text, _encode_options(**options))

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int = 0,
        **options: Unpack[EncodeOptions],
    ) -> EncodedBatch:
        """Return the ids of many texts, much faster than one call for each.

        Parameters
        ----------
        texts
            The texts. For "dropout" and "sample", text i is drawn as line `line` + i.
        threads
            0: as many as the process may use. The result does not depend on it.
        **options
            How to encode: see `EncodeOptions`.

        Returns
        -------
        EncodedBatch
            A sequence of arrays, which are views of one array, `ids`.

        Examples
        --------
        >>> tokenizer = Tokenizer("examples/multi30k/model/tokenizer.json")
        >>> batch = tokenizer.encode_batch(["Ein Hund.", "Eine Katze."])
        >>> len(batch), len(batch.ids)
        (2, 5)
        """
        return EncodedBatch(*self._core.encode_batch(_sequence(texts), threads, _encode_options(**options)))

    def encode_with_offsets(self, text: Text, *, match_special_tokens: bool = False) -> Offsets:
        """Return the ids of a text, and the part of the text that each token represents.

        The spans follow one another and cover the text.
        """
        options = _encode_options(match_special_tokens=match_special_tokens)
        in_characters = isinstance(text, str) and not text.isascii()
        return Offsets(*self._core.encode_pieces(text, options, in_characters))

    def tokenize(self, text: Text, **options: Unpack[EncodeOptions]) -> list[str]:
        """Return the tokens of one text as strings. The parameters are those of `encode`."""
        piece = self._core.piece
        return [piece(i) for i in self._core.encode(text, _encode_options(**options)).tolist()]

    def encode_n_best(self, text: Text, n_best: int) -> list[tuple[Ids, float]]:
        """Return the best segmentations with their scores, the best first. Unigram models only."""
        return self._core.encode_n_best(text, n_best)

    def decode(self, ids: Iterable[int] | Ids) -> str:
        """Return the text of token ids. Special tokens are left out."""
        return self._core.decode(ids)

    def decode_batch(self, batch: EncodedBatch | Iterable[Iterable[int]]) -> list[str]:
        """Return the texts of several lists of ids."""
        if isinstance(batch, EncodedBatch):
            return self._core.decode_batch(batch.ids, batch.offsets)
        return [self._core.decode(ids) for ids in batch]

    def token(self, id: int) -> str:
        """Return the token with this id."""
        return self._core.piece(id)

    def id(self, token: Text) -> int | None:
        """Return the id of a token, or None if the vocabulary does not contain it."""
        return self._core.id(token)

    def tokens(self) -> list[str]:
        """Return all tokens, by id."""
        return self._core.pieces()

    def is_special(self, id: int) -> bool:
        """Return whether decoding leaves this token out."""
        return self._core.is_special(id)

    def save(self, file: PathLike, *, kind: str = "") -> None:
        """Write the tokenizer.

        Parameters
        ----------
        file
            The file to write. It appears when it is complete.
        kind
            "tokenizer-json", "sentencepiece", "subword-nmt", "gpt2", "tiktoken" or "youtokentome". By default the name
            decides (.json, .model), then a tokenizer.json for BPE, a SentencePiece model for unigram.
        """
        self._core.save(Path(file), kind)


def _reopen(file: str, type: str, options: dict[str, Any]) -> Tokenizer:
    return Tokenizer(file, type=type, **options)


def _sequence(texts: Iterable[Text]) -> Sequence[Text]:
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts must be several texts, not one; use encode() for one")
    return texts if isinstance(texts, (list, tuple)) else list(texts)


@contextlib.contextmanager
def _files_of(data: PathLike | Iterable[PathLike], texts: Iterable[str] | None) -> Iterator[list[Path]]:
    """Yield the files to learn from; texts are written to a file that disappears afterwards."""
    if texts is not None and data != ():
        raise TypeError("give files or texts to learn from, not both")
    if texts is None:
        files = [data] if isinstance(data, (str, os.PathLike)) else list(data)
        yield [Path(file) for file in files]
        return
    with temporary_folder() as folder:
        path = folder / "texts"
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            for text in several(texts, "texts") if isinstance(texts, (str, bytes)) else texts:
                file.write(text)
                file.write("\n")
        yield [path]


def learn_bpe(
    files: PathLike | Iterable[PathLike] = (),
    *,
    texts: Iterable[str] | None = None,
    counts: PathLike | Iterable[PathLike] = (),
    progress: ProgressFunction | bool | None = None,
    log: LogFunction | None = None,
    **options: Unpack[LearnBpeOptions],
) -> Tokenizer:
    """Learn a BPE vocabulary; the result has the bytes of `dragoman learn-bpe`.

    Parameters
    ----------
    files
        A text file, or several, which give one joint vocabulary. gzip and Zstandard are recognised.
    texts
        Texts to learn from instead of files. They are written to a temporary file, so any number will do.
    counts
        One or more files of `dragoman count-words` to learn from instead of files. The counts of a word are added.
    progress, log
        Functions that receive progress and messages. `progress=True` shows a bar. By default messages go to the logger
        "dragoman".
    **options
        The options of `dragoman learn-bpe`, as `vocab_size=8000`, which are listed below. docs/guides/tokenizer.md
        explains them. An unknown option is a BadInputError that suggests the nearest name.

    Examples
    --------
    >>> tokenizer = learn_bpe(texts=["low lower lowest"] * 10, vocab_size=300, threads=1)
    >>> tokenizer.tokenize("low")
    ['▁low']
    """
    if counts != () and (files != () or texts is not None):
        raise TypeError("give files, texts or counts to learn from, and only one of them")
    learn = _core.learn_bpe if counts == () else _core.learn_bpe_from_counts
    with _files_of(files if counts == () else counts, texts) as paths:
        return Tokenizer._wrap(learn(paths, to_json(options), progress_function(progress), log_function(log)))


def learn_unigram(
    files: PathLike | Iterable[PathLike] = (),
    *,
    texts: Iterable[str] | None = None,
    progress: ProgressFunction | bool | None = None,
    log: LogFunction | None = None,
    **options: Unpack[LearnUnigramOptions],
) -> Tokenizer:
    """Learn a unigram vocabulary as SentencePiece does; the result has the bytes of `dragoman learn-unigram`.

    The parameters are those of `learn_bpe`, and the options those of `dragoman learn-unigram`, which are listed below.

    Examples
    --------
    >>> tokenizer = learn_unigram(texts=["a cat sat on a mat"] * 10, vocab_size=280, threads=1)
    >>> len(tokenizer) <= 280
    True
    """
    with _files_of(files, texts) as paths:
        return Tokenizer._wrap(
            _core.learn_unigram(paths, to_json(options), None, progress_function(progress), log_function(log))
        )


for _function in (learn_bpe, learn_unigram):
    _lines = ["", "    Other Parameters", "    ----------------", *described_options(_function.__name__), "    "]
    _function.__doc__ = (_function.__doc__ or "") + "\n".join(_lines)
