"""Learning of unigram models from counted words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

import dragoman

if TYPE_CHECKING:
    from .trainers import UnigramTrainer

_UNKNOWN = "<unk>"


def learn_pieces(
    words: Mapping[str, int], trainer: UnigramTrainer, special_tokens: Sequence[str]
) -> list[tuple[str, float]]:
    """Return the pieces with their scores, without special tokens."""
    learned = dragoman.learn_unigram(
        texts=_lines(words),
        vocab_size=max(trainer.vocab_size - len(special_tokens) + 1, 1),
        special_tokens=[_UNKNOWN],
        seed_size=trainer.seed_size,
        shrinking_factor=trainer.shrinking_factor,
        sub_iterations=trainer.n_sub_iterations,
        max_piece_length=trainer.max_piece_length,
        character_coverage=1.0,
        byte_fallback=False,
        split_scripts=False,
        split_numbers=False,
        split_digits=False,
        split_whitespace=False,
        character_map="identity",
        dummy_prefix=False,
        remove_extra_spaces=False,
        escape_spaces=False,
    )
    pieces: Any = learned._core.unigram_pieces() or []
    found = {text: score for text, score, kind in pieces if kind == 1}
    least = min(found.values(), default=0.0)
    ends = ["\n"] if any("\n" in word for word in words) else []
    for character in [*ends, *trainer.initial_alphabet]:
        found.setdefault(character, least)
    return [(text, score) for text, score in found.items() if text not in special_tokens]


def _lines(words: Mapping[str, int]) -> Iterator[str]:
    """Yield each word as often as it occurs. The learner reads lines, so a word with line ends is several."""
    for word, count in sorted(words.items()):
        lines = [line for line in word.split("\n") if line]
        for _ in range(count):
            yield from lines
