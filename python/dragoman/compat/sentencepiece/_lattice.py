"""Sums over all segmentations of a text by a unigram model."""

from __future__ import annotations

import math

from ._model import Model
from ._texts import as_bytes


def _edges(model: Model, text: str | bytes) -> tuple[int, list[tuple[int, int, float]]]:
    """Return the length of the normalised text, and begin, end and score of each piece in it, by begin."""
    scores, unknown = model.text_scores
    longest = max(map(len, scores), default=1)
    normal = model.text_normalizer.normalize(as_bytes(text))[0].decode()
    edges = []
    for begin in range(len(normal)):
        found = [
            (begin, end, scores[normal[begin:end]])
            for end in range(begin + 1, min(begin + longest, len(normal)) + 1)
            if normal[begin:end] in scores
        ]
        if not found or found[0][1] != begin + 1:
            found.append((begin, begin + 1, unknown))
        edges += found
    return len(normal), edges


def _add(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def log_total(model: Model, text: str | bytes, alpha: float) -> float:
    """Return the logarithm of the sum over all segmentations of exp(alpha * score)."""
    size, edges = _edges(model, text)
    ways = [0.0] + [-math.inf] * size
    for begin, end, score in edges:
        ways[end] = _add(ways[end], ways[begin] + alpha * score)
    return ways[size]


def entropy(model: Model, text: str | bytes, alpha: float) -> float:
    """Return the entropy of the distribution over segmentations, in nats."""
    size, edges = _edges(model, text)
    ways = [0.0] + [-math.inf] * size
    for begin, end, score in edges:
        ways[end] = _add(ways[end], ways[begin] + alpha * score)
    # The entropy of the prefixes: that of the last piece, and the mean of what is before it.
    entropies = [0.0] * (size + 1)
    for begin, end, score in edges:
        log_share = ways[begin] + alpha * score - ways[end]
        entropies[end] += math.exp(log_share) * (entropies[begin] - log_share)
    return entropies[size]
