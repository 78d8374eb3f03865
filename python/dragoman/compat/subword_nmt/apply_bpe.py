"""Applying codes."""

from __future__ import annotations

import contextlib
import functools
import random
import re
from typing import IO, Any, Callable, Collection, Iterable, Iterator, Mapping, Optional, Sequence

import numpy as np

from dragoman import Tokenizer, _core

from ._common import ENDS, refuse_bytes

_END = "</w>"
_NONCHARACTER = "\ufdd0"
_HIDDEN = re.compile("[ \ud800-\udfff]")
_EXACT = _core.EncodeOptions("exact", 0.1, 0.1, 0, 0, 0, False)

Version = tuple[int, ...]


class _Codes(dict[tuple[str, str], int]):
    """The ranks of merges, with the engine's tokenizer for them. The tokenizer is made again after a change."""

    def __init__(self, ranks: Mapping[tuple[str, str], int], version: Version) -> None:
        super().__init__(ranks)
        self._version = version
        self._made: _Engine | None = None

    def _engine(self) -> _Engine:
        made = self._made
        if made is None:
            made = self._made = _Engine(sorted(self, key=self.__getitem__), self._version)
        return made

    def segment(self, tokens: Iterable[str], separator: str, dropout: float = 0) -> list[str]:
        """Return the pieces of words; those that do not end their word have the separator."""
        words = [word for word in tokens if word]
        if not self:  # without merges each character is a piece
            return [piece for word in words for piece in (*(each + separator for each in word[:-1]), word[-1])]
        return self._engine().segment(words, separator, _options(dropout)) if words else []

    def __reduce__(self) -> tuple[Any, ...]:
        return _Codes, (dict(self), self._version)


def _forgetting(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of dict that also removes the engine, which was made for the former merges."""

    @functools.wraps(change)
    def changed(self: _Codes, *arguments: Any, **keywords: Any) -> Any:
        self._made = None
        return change(self, *arguments, **keywords)

    return changed


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(_Codes, _name, _forgetting(getattr(dict, _name)))


class _Engine:
    """The engine's tokenizer for merges in their order. Immutable.

    The engine tells pieces apart by a separator that no merge contains, so that users may choose any separator.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]], version: Version) -> None:
        lines = [f"#version: {'.'.join(map(str, version))}", *(" ".join(pair) for pair in pairs)]
        content = "\n".join(lines) + "\n"
        mark = _NONCHARACTER
        while mark in content:
            mark += _NONCHARACTER
        self._tokenizer = Tokenizer.from_bytes(content, name="codes", type="subword-nmt", separator=mark)
        self._unknown = self._tokenizer.id("<unk>")
        #: Each piece without the mark, and whether it had one.
        self._pieces = [(each.removesuffix(mark), each.endswith(mark)) for each in self._tokenizer.tokens()]
        #: A character that no merge contains.
        self._place = next(chr(code) for code in range(0xE000, 0x110000) if chr(code) not in content)
        self._shown: tuple[str, list[str]] = "", [piece for piece, _ in self._pieces]

    def segment(self, words: Sequence[str], separator: str, options: _core.EncodeOptions) -> list[str]:
        """Return the pieces of words, none of which is empty."""
        text = " ".join(words)
        if text.count(" ") < len(words):
            with contextlib.suppress(UnicodeEncodeError):  # lone surrogates
                return self._segment(text, separator, options)
        # Characters that the engine cannot be given within a word, and that no merge has.
        hidden = [each for each in "".join(words) if each == self._place or _HIDDEN.match(each)]
        text = " ".join(_HIDDEN.sub(self._place, word) for word in words)
        pieces, following = self._segment(text, separator, options), iter(hidden)
        return [next(following) + piece[1:] if piece.startswith(self._place) else piece for piece in pieces]

    def _segment(self, text: str, separator: str, options: _core.EncodeOptions) -> list[str]:
        shown_for, shown = self._shown
        if shown_for != separator:
            shown = [piece + separator if continues else piece for piece, continues in self._pieces]
            self._shown = separator, shown
        ids: list[int] = np.asarray(self._tokenizer._core.encode(text, options)).tolist()
        if self._unknown not in ids:
            return [shown[id] for id in ids]
        # A character that no merge has is a piece, too.
        data = text.encode()
        array, spans = self._tokenizer._core.encode_pieces(data, options)
        pieces = []
        for id, (begin, end) in zip(array.tolist(), spans.tolist()):
            piece = shown[id]
            if id == self._unknown:
                piece = data[begin:end].decode()
                if data[end : end + 1] not in (b"", b" "):
                    piece += separator
            pieces.append(piece)
        return pieces


class BPE:
    """Applies codes to text.

    Parameters
    ----------
    codes
        A text file with codes of subword-nmt.
    merges
        How many of the merges to use; -1: all.
    separator
        The mark of pieces that do not end their word.
    vocab
        The pieces that may be produced; others are divided again. See read_vocabulary().
    glossaries
        Regular expressions, whose matches stay whole.

    Examples
    --------
    >>> import io
    >>> bpe = BPE(io.StringIO("#version: 0.2\\nl o\\nlo w</w>\\n"), glossaries=["<ph>"])
    >>> bpe.process_line("  low slow <ph>low\\n")
    '  low s@@ low <ph>@@ low\\n'
    """

    def __init__(
        self,
        codes: IO[str],
        merges: int = -1,
        separator: str = "@@",
        vocab: Optional[Collection[str]] = None,
        glossaries: Optional[Sequence[str]] = None,
        is_bytes: bool = False,
    ) -> None:
        refuse_bytes(is_bytes)
        codes.seek(0)
        first = codes.readline()
        self.version: Version = (0, 1)
        if first.startswith("#version:"):
            self.version = tuple(int(each) for each in re.sub(r"(\.0+)*$", "", first.split()[-1]).split("."))
        else:
            codes.seek(0)
        _refuse_version(self.version, vocab)
        pairs = list(_read_pairs(codes, merges))
        # Of equal merges, the first counts.
        self.bpe_codes = {pair: rank for rank, pair in reversed(list(enumerate(pairs)))}
        self.bpe_codes_reverse = {"".join(pair): pair for pair in self.bpe_codes}
        self.separator = separator
        self.vocab = vocab
        self.glossaries = list(glossaries) if glossaries else []
        self.glossaries_regex = re.compile(f"^({'|'.join(self.glossaries)})$") if glossaries else None
        self.is_bytes = False
        self.cache: dict[str, Sequence[str]] = {}

    @property
    def bpe_codes(self) -> dict[tuple[str, str], int]:
        """The merges with their ranks. A change of them applies to the next text."""
        return self._codes

    @bpe_codes.setter
    def bpe_codes(self, ranks: Mapping[tuple[str, str], int]) -> None:
        self._codes = _Codes(ranks, self.version)

    def process_lines(self, filename: str, outfile: Any, dropout: float = 0, num_workers: int = 1) -> None:
        """Segment the lines of a file; `outfile` is a file object or a name. `num_workers` has no effect."""
        if num_workers < 1:
            raise ValueError(f"`num_workers` is expected to be a positive number, but got {num_workers}.")
        if isinstance(outfile, str):
            with open(outfile, "w", encoding="utf-8") as file:
                return self.process_lines(filename, file, dropout)
        with open(filename, encoding="utf-8") as lines:
            for line in lines:
                outfile.write(self.process_line(line, dropout))

    def process_line(self, line: str, dropout: float = 0) -> str:
        """Return the segmented line, with the whitespace at both ends."""
        begin = len(line) - len(line.lstrip(ENDS))
        end = len(line.rstrip(ENDS))
        if begin == len(line):
            return line
        return line[:begin] + self.segment(line, dropout) + line[end:]

    def segment(self, sentence: str, dropout: float = 0) -> str:
        """Return the pieces of a sentence, separated by spaces."""
        return " ".join(self.segment_tokens(sentence.strip(ENDS).split(" "), dropout))

    def segment_tokens(self, tokens: Iterable[str], dropout: float = 0) -> list[str]:
        """Return the pieces of words.

        Parameters
        ----------
        tokens
            The words.
        dropout
            The probability that a merge is skipped (BPE-dropout).
        """
        if not self.vocab and not self.glossaries:
            return self._codes.segment(tokens, self.separator, dropout)
        output = []
        for word in tokens:
            if not word:
                continue
            pieces = [
                piece
                for segment in self._isolate_glossaries(word)
                for piece in encode(
                    segment,
                    self.bpe_codes,
                    self.bpe_codes_reverse,
                    self.vocab,
                    self.separator,
                    self.version,
                    self.cache,
                    self.glossaries_regex,
                    self.is_bytes,
                    dropout,
                )
            ]
            output += [piece + self.separator for piece in pieces[:-1]]
            output.append(pieces[-1])
        return output

    def _isolate_glossaries(self, word: str) -> list[str]:
        segments = [word]
        for glossary in self.glossaries:
            segments = [part for segment in segments for part in isolate_glossary(segment, glossary)]
        return segments


def _refuse_version(version: Version, vocab: Optional[Collection[str]]) -> None:
    if version not in ((0, 1), (0, 2)):
        raise NotImplementedError(f"codes of version {version} are not covered; 0.1 and 0.2 are")
    if vocab and version == (0, 1):
        raise NotImplementedError(
            "a vocabulary with codes of version 0.1 is not covered: subword-nmt writes empty pieces for them"
        )


def _read_pairs(codes: IO[str], merges: int) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(codes.read().rstrip("\n").split("\n")):
        if merges != -1 and number >= merges:
            return
        fields = line.strip(ENDS).split(" ")
        if len(fields) != 2:
            raise ValueError(f"merge {number + 1} of the codes is {line!r}; it must be two pieces with a space between")
        yield fields[0], fields[1]


def _options(dropout: float) -> _core.EncodeOptions:
    if not dropout:
        return _EXACT
    return _core.EncodeOptions("dropout", dropout, 0.1, 0, random.getrandbits(63), 0, False)


def encode(
    orig: str,
    bpe_codes: Mapping[tuple[str, str], int],
    bpe_codes_reverse: Mapping[str, tuple[str, str]],
    vocab: Optional[Collection[str]],
    separator: str,
    version: Version,
    cache: dict[str, Sequence[str]],
    glossaries_regex: Optional[re.Pattern[str]] = None,
    is_bytes: bool = False,
    dropout: float = 0,
) -> Sequence[str]:
    """Return the pieces of one word without separators. BPE calls it for words that need more than the merges."""
    refuse_bytes(is_bytes)
    _refuse_version(version, vocab)
    if not dropout and orig in cache:
        return cache[orig]
    if len(orig) == 1 or (glossaries_regex is not None and glossaries_regex.match(orig)):
        return (orig,)
    codes = bpe_codes if isinstance(bpe_codes, _Codes) else _Codes(bpe_codes, version)
    pieces: Sequence[str] = tuple(codes.segment([orig], "", dropout))
    if vocab:
        pieces = check_vocab_and_split(pieces, bpe_codes_reverse, vocab, separator)
    if not dropout:
        cache[orig] = pieces
    return pieces


def check_vocab_and_split(
    orig: Sequence[str], bpe_codes: Mapping[str, tuple[str, str]], vocab: Collection[str], separator: str
) -> list[str]:
    """Return the pieces of a word; those outside the vocabulary are divided by undoing merges."""
    last = len(orig) - 1
    return [
        part for i, piece in enumerate(orig) for part in recursive_split(piece, bpe_codes, vocab, separator, i == last)
    ]


def recursive_split(
    segment: str, bpe_codes: Mapping[str, tuple[str, str]], vocab: Collection[str], separator: str, final: bool = False
) -> Iterator[str]:
    """Yield the parts of a piece that are in the vocabulary or that no merge produces."""
    pair = bpe_codes.get(segment + _END if final else segment)
    if pair is None or (segment if final else segment + separator) in vocab:
        yield segment
        return
    left, right = pair
    yield from recursive_split(left, bpe_codes, vocab, separator)
    yield from recursive_split(right.removesuffix(_END) if final else right, bpe_codes, vocab, separator, final)


def read_vocabulary(vocab_file: Iterable[str], threshold: Optional[int]) -> set[str]:
    """Return the pieces of a vocabulary file that occur at least `threshold` times; None: all."""
    rows = (line.strip(ENDS).split(" ") for line in vocab_file)
    return {piece for piece, count in rows if threshold is None or int(count) >= threshold}


def isolate_glossary(word: str, glossary: str, is_bytes: bool = False) -> list[str]:
    """Return the parts of a word before, in and after matches of a glossary entry.

    Examples
    --------
    >>> isolate_glossary("1934USABUSA", "USA")
    ['1934', 'USA', 'B', 'USA']
    """
    refuse_bytes(is_bytes)
    if re.match(f"^{glossary}$", word) or not re.search(glossary, word):
        return [word]
    *parts, last = re.split(f"({glossary})", word)
    kept = [part for part in parts if part]
    return kept + [last.strip(ENDS)] if last else kept


def get_byte_mode(code_file_name: str) -> bool:
    """Return whether a codes file is byte-level, which BPE does not cover."""
    with open(code_file_name, "rb") as file:
        return file.readline().endswith(b"byte\n")
