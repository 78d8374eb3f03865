"""Counting words."""

from __future__ import annotations

from collections import Counter
from typing import IO, Iterable

from ._common import words_of


def get_vocab(train_file: Iterable[str], vocab_file: IO[str]) -> None:
    """Write each word of a text, a space and its count, the most frequent word first."""
    for word, count in Counter(words_of(train_file)).most_common():
        vocab_file.write(f"{word} {count}\n")
