"""Learning codes."""

from __future__ import annotations

import math
import sys
from collections import Counter
from typing import IO, Iterable

from dragoman import _core

from ._common import ENDS, refuse_bytes, words_of


def get_vocabulary(
    fobj: Iterable[str], is_dict: bool = False, is_bytes: bool = False, num_workers: int = 1
) -> Counter[str]:
    """Return the number of occurrences of each word.

    Parameters
    ----------
    fobj
        The lines of a text; with `is_dict`, lines of a word, a space and its count.
    num_workers
        Has no effect.
    """
    refuse_bytes(is_bytes)
    if num_workers < 1:
        raise ValueError(f"`num_workers` is expected to be a positive number, but got {num_workers}.")
    if not is_dict:
        return Counter(words_of(fobj))
    counts: Counter[str] = Counter()
    for number, line in enumerate(fobj, 1):
        fields = line.strip(ENDS).split(" ")
        try:
            word, count = fields
            counts[word] += int(count)
        except ValueError:
            raise ValueError(
                f"line {number} of the dictionary is {line!r}; it must be a word, a space and a count"
            ) from None
    return counts


def learn_bpe(
    infile: Iterable[str],
    outfile: IO[str],
    num_symbols: int,
    min_frequency: int = 2,
    verbose: bool = False,
    is_dict: bool = False,
    is_bytes: bool = False,
    total_symbols: bool = False,
    num_workers: int = 1,
) -> None:
    """Learn merges and write them as codes; the lines are those of subword-nmt.

    Parameters
    ----------
    infile
        The lines of a text; with `is_dict`, lines of a word, a space and its count.
    outfile
        Receives the codes.
    num_symbols
        The number of merges.
    min_frequency
        Learning ends at a pair that occurs less often.
    verbose
        Whether to print the merges to standard error.
    total_symbols
        Whether the distinct characters are subtracted from `num_symbols`.
    num_workers
        Has no effect.
    """
    counts = get_vocabulary(infile, is_dict, is_bytes, num_workers)
    if total_symbols:
        inner = {character for word in counts for character in word[:-1]}
        final = {word[-1] for word in counts if word}
        print(f"Number of word-internal characters: {len(inner)}", file=sys.stderr)
        print(f"Number of word-final characters: {len(final)}", file=sys.stderr)
        print(f"Reducing number of merge operations by {len(inner) + len(final)}", file=sys.stderr)
        num_symbols -= len(inner) + len(final)
    _check_counts(counts)
    outfile.write("#version: 0.2\n")
    merges = _core.learn_codes(dict(counts), max(num_symbols, 0), max(math.ceil(min_frequency), 1), None)
    for i, (left, right) in enumerate(merges):
        outfile.write(f"{left} {right}\n")
        if verbose:
            print(f"pair {i}: {left} {right} -> {left}{right}", file=sys.stderr)
    if len(merges) < num_symbols:
        print(f"no pair has frequency >= {min_frequency}. Stopping", file=sys.stderr)


def _check_counts(counts: Counter[str]) -> None:
    for word, count in counts.items():
        if count < 0:
            raise ValueError(f"the word {word!r} has the count {count}; counts must not be negative")
    if sum(len(word) * count for word, count in counts.items()) >= 2**63:
        raise ValueError("the counts are too large: the characters of all words must be fewer than 2^63")
