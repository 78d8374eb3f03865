"""Models of type word and char: the most frequent words or characters of a text."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Iterable

from ._assembly import Layout, Piece
from ._model import split_words
from ._types import MARK, NORMAL, USER_DEFINED
from .sentencepiece_model_pb2 import TrainerSpec


def learn(texts: Iterable[str], spec: Any, layout: Layout) -> list[Piece]:
    """Return the pieces of normalised texts by falling count, with the logarithms of their shares as scores."""
    symbols = sorted((piece for piece, type in layout.meta.values() if type == USER_DEFINED), key=len, reverse=True)
    characters: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for text in texts:
        for symbol in symbols:
            # Pieces do not cross a symbol.
            text = text.replace(symbol, "\n")
        for part in text.split("\n"):
            characters.update(part)
            if spec.model_type == TrainerSpec.WORD:
                words.update(split_words(part))
    kept = _covered(characters, spec)
    if spec.model_type == TrainerSpec.CHAR:
        counts = Counter({c: n for c, n in characters.items() if c in kept})
    else:
        counts = Counter({word: n for word, n in words.items() if kept.issuperset(word)})
    if not counts:
        raise RuntimeError("the text has no words to learn from")
    total = math.log(sum(counts.values()))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if spec.use_all_vocab:
        layout.wanted = len(ordered)
        spec.vocab_size = len(layout.meta) + len(ordered)
    return [(piece, math.log(n) - total, NORMAL) for piece, n in ordered[: max(layout.wanted, 0)]]


def _covered(characters: Counter[str], spec: Any) -> set[str]:
    """Return the most frequent characters, which make up the share `character_coverage`, and the space."""
    total, seen = sum(characters.values()), 0
    kept = {MARK, *spec.required_chars}
    for character, count in sorted(characters.items(), key=lambda item: (-item[1], item[0])):
        if not spec.use_all_vocab and seen >= spec.character_coverage * total:
            break
        seen += count
        kept.add(character)
    return kept
