"""Counts of n-grams. The metrics do not use them: the engine counts."""

from __future__ import annotations

from collections import Counter
from typing import Sequence


def extract_word_ngrams(tokens: Sequence[str], n: int) -> Counter[str]:
    """Return how often each sequence of n tokens occurs; a sequence is written with spaces between its tokens."""
    return Counter(" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def extract_all_word_ngrams(line: str, min_order: int, max_order: int) -> tuple[Counter[tuple[str, ...]], int]:
    """Return how often each sequence of min_order to max_order words occurs, and the number of words."""
    words = line.split()
    orders = range(min_order, max_order + 1)
    found = Counter(tuple(words[i : i + n]) for n in orders for i in range(len(words) - n + 1))
    return found, len(words)


def extract_char_ngrams(line: str, n: int, include_whitespace: bool = False) -> Counter[str]:
    """Return how often each sequence of n characters occurs."""
    text = line if include_whitespace else "".join(line.split())
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def extract_all_char_ngrams(line: str, max_order: int, include_whitespace: bool = False) -> list[Counter[str]]:
    """Return the counts of extract_char_ngrams() for 1 to max_order."""
    return [extract_char_ngrams(line, n, include_whitespace) for n in range(1, max_order + 1)]
