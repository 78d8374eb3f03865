"""Applying codes."""

from __future__ import annotations

import random
import re
from typing import IO, Any, Collection, Iterable, Iterator, Mapping, Optional, Sequence

import numpy as np

from dragoman import Tokenizer, _core

from ._common import ENDS, refuse_bytes

_END = "</w>"
_EXACT = _core.EncodeOptions("exact", 0.1, 0.1, 0, 0, 0, False)

Version = tuple[int, ...]


class _Codes(dict[tuple[str, str], int]):
    """The ranks of merges, with the engine's tokenizer for them."""

    def __init__(self, pairs: Sequence[tuple[str, str]], version: Version, separator: str) -> None:
        super().__init__()
        for rank, pair in reversed(list(enumerate(pairs))):
            self[pair] = rank
        self._separator = separator
        self._tokenizer: Tokenizer | None = None
        self._pieces: list[str] = []
        if pairs:  # without merges each character is a piece
            lines = [f"#version: {'.'.join(map(str, version))}", *(" ".join(pair) for pair in pairs)]
            content = "\n".join(lines) + "\n"
            self._tokenizer = Tokenizer.from_bytes(content, name="codes", type="subword-nmt", separator=separator)
            self._pieces = self._tokenizer.tokens()
            self._unknown = self._tokenizer.id("<unk>")

    def segment(self, text: str, dropout: float = 0) -> list[str]:
        """Return the pieces of words; those that do not end their word have the separator."""
        if self._tokenizer is None:
            words = (word for word in text.split(" ") if word)
            return [piece for word in words for piece in (*(each + self._separator for each in word[:-1]), word[-1])]
        options = _options(dropout)
        ids: list[int] = np.asarray(self._tokenizer._core.encode(text, options)).tolist()
        if self._unknown not in ids:
            return [self._pieces[id] for id in ids]
        return self._with_unknown_text(text, options)

    def _with_unknown_text(self, text: str, options: _core.EncodeOptions) -> list[str]:
        """Return the pieces of words; a character that no merge has is a piece, too."""
        assert self._tokenizer is not None
        data = text.encode()
        ids, spans = self._tokenizer._core.encode_pieces(data, options)
        pieces = []
        for id, (begin, end) in zip(ids.tolist(), spans.tolist()):
            piece = self._pieces[id]
            if id == self._unknown:
                piece = data[begin:end].decode()
                if data[end : end + 1] not in (b"", b" "):
                    piece += self._separator
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
        if self.version not in ((0, 1), (0, 2)):
            raise NotImplementedError(f"codes of version {self.version} are not covered; 0.1 and 0.2 are")
        if vocab and self.version == (0, 1):
            raise NotImplementedError(
                "a vocabulary with codes of version 0.1 is not covered: subword-nmt writes empty pieces for them"
            )
        self.bpe_codes = _Codes(list(_read_pairs(codes, merges)), self.version, separator)
        self.bpe_codes_reverse = {"".join(pair): pair for pair in self.bpe_codes}
        self.separator = separator
        self.vocab = vocab
        self.glossaries = list(glossaries) if glossaries else []
        self.glossaries_regex = re.compile(f"^({'|'.join(self.glossaries)})$") if glossaries else None
        self.is_bytes = False
        self.cache: dict[str, Sequence[str]] = {}

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
            return self.bpe_codes.segment(" ".join(tokens), dropout)
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
    if not dropout and orig in cache:
        return cache[orig]
    if len(orig) == 1 or (glossaries_regex is not None and glossaries_regex.match(orig)):
        return (orig,)
    codes = bpe_codes
    if not isinstance(codes, _Codes):
        codes = _Codes(sorted(codes, key=codes.__getitem__), version, separator)
    segmented = codes.segment(orig, dropout)
    pieces: Sequence[str] = [*(piece.removesuffix(separator) for piece in segmented[:-1]), *segmented[-1:]]
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
