"""Learning of merges with the order and the ties of the package `tokenizers`.

Dragoman's own learner (`dragoman.learn_bpe`) counts pairs in runs of equal characters differently, is many times faster
and needs less memory.
"""

from __future__ import annotations

import heapq
import sys
from collections import Counter, defaultdict
from typing import Mapping, NamedTuple, Optional, Sequence

Pair = tuple[int, int]


class Learned(NamedTuple):
    """A vocabulary and the merges that make its tokens."""

    vocab: dict[str, int]
    merges: list[tuple[str, str]]


class _Vocabulary:
    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.ids: dict[str, int] = {}

    def add(self, token: str) -> int:
        id = self.ids.setdefault(token, len(self.tokens))
        if id == len(self.tokens):
            self.tokens.append(token)
        return id


def learn(
    words: Mapping[str, int],
    *,
    vocab_size: int,
    min_frequency: int,
    special_tokens: Sequence[str],
    limit_alphabet: Optional[int],
    initial_alphabet: Sequence[str],
    prefix: str,
    suffix: str,
    max_token_length: Optional[int],
) -> Learned:
    """Learn merges from words and their counts."""
    vocabulary = _Vocabulary()
    for token in special_tokens:
        vocabulary.add(token)
    for character in alphabet_of(words, limit_alphabet, initial_alphabet):
        vocabulary.add(character)
    ordered = sorted(words)  # ids of marked characters are given in this order
    symbols = [_symbols(word, vocabulary, prefix, suffix) for word in ordered]
    corpus = _Corpus(symbols, [words[word] for word in ordered], max_token_length)
    merges: list[tuple[str, str]] = []
    while len(vocabulary.tokens) < vocab_size:
        pair = corpus.best(max(min_frequency, 1))
        if pair is None:
            break
        left, right = vocabulary.tokens[pair[0]], vocabulary.tokens[pair[1]]
        merges.append((left, right))
        corpus.merge(pair, vocabulary.add(left + right[len(prefix) if right.startswith(prefix) else 0 :]))
    return Learned(vocabulary.ids, merges)


def alphabet_of(words: Mapping[str, int], limit: Optional[int], initial: Sequence[str]) -> list[str]:
    """Return the characters of words by code point, or the most frequent ones."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    for character in initial:
        counts[character] = sys.maxsize
    kept = sorted(counts, key=lambda c: (-counts[c], c))[:limit]
    return sorted(kept)


def _symbols(word: str, vocabulary: _Vocabulary, prefix: str, suffix: str) -> list[int]:
    made = []
    for i, character in enumerate(word):
        if character not in vocabulary.ids:
            continue
        token = prefix + character if i > 0 else character
        made.append(vocabulary.add(token + suffix if i == len(word) - 1 else token))
    return made


class _Corpus:
    """Words as symbols, and the counts of neighbouring pairs."""

    def __init__(self, words: list[list[int]], counts: list[int], max_length: Optional[int]) -> None:
        self.words = words
        self.lengths = [[1] * len(word) for word in words]
        self.counts = counts
        self.max_length = sys.maxsize if max_length is None else max_length
        self.pairs: Counter[Pair] = Counter()
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for index, word in enumerate(words):
            for pair in zip(word, word[1:]):
                self.pairs[pair] += counts[index]
                self.places[pair].add(index)
        self.queue = [(-count, pair) for pair, count in self.pairs.items() if count > 0]
        heapq.heapify(self.queue)

    def best(self, least: int) -> Optional[Pair]:
        """Remove and return the most frequent pair; of equally frequent ones the one with the smallest ids."""
        while self.queue:
            count, pair = heapq.heappop(self.queue)
            now = self.pairs[pair]
            if -count != now:
                if now > 0:
                    heapq.heappush(self.queue, (-now, pair))
                continue
            return pair if now >= least else None
        return None

    def merge(self, pair: Pair, result: int) -> None:
        changed: dict[Pair, set[int]] = {}
        for index in self.places.pop(pair, set()):
            weight = self.counts[index]
            for changed_pair, change in self._merge_in(index, pair, result):
                self.pairs[changed_pair] += change * weight
                if change > 0:
                    changed.setdefault(changed_pair, set()).add(index)
        for changed_pair, places in changed.items():
            self.places[changed_pair] |= places
            if self.pairs[changed_pair] > 0:
                heapq.heappush(self.queue, (-self.pairs[changed_pair], changed_pair))

    def _merge_in(self, index: int, pair: Pair, result: int) -> list[tuple[Pair, int]]:
        word, lengths = self.words[index], self.lengths[index]
        changes = []
        i = 0
        while i + 1 < len(word):
            if (word[i], word[i + 1]) == pair:
                length = lengths[i] + lengths[i + 1]
                if i > 0:
                    changes.append(((word[i - 1], pair[0]), -1))
                    if lengths[i - 1] + length < self.max_length:
                        changes.append(((word[i - 1], result), 1))
                word[i : i + 2], lengths[i : i + 2] = [result], [length]
                if i + 1 < len(word):
                    changes.append(((pair[1], word[i + 1]), -1))
                    if lengths[i + 1] + length < self.max_length:
                        changes.append(((result, word[i + 1]), 1))
            i += 1
        return changes
