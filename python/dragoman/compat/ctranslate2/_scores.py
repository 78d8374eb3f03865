"""Scores of batches of tokens."""

from __future__ import annotations

from typing import Sequence

from dragoman import _core

from ._conventions import Conventions
from ._results import ScoringResult


class ScoreBatch:
    """Pairs of sources and targets, of which `start` submits those that the model can read."""

    def __init__(
        self,
        client: _core.TokenClient,
        conventions: Conventions,
        sources: Sequence[Sequence[str]],
        targets: Sequence[Sequence[str]],
        max_input_length: int,
        offset: int,
    ) -> None:
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources have targets of the length {len(targets)}")
        self._client = client
        self._conventions = conventions
        self._offset = offset
        self._sources = [conventions.source_ids(source, max_input_length) for source in sources]
        self._targets = [self._target_ids(target, max_input_length) for target in targets]
        self._scored = [index for index, source in enumerate(self._sources) if source]
        self._places = {index: place for place, index in enumerate(self._scored)}
        self._job: _core.TokenJob | None = None

    def _target_ids(self, target: Sequence[str], max_input_length: int) -> list[int]:
        """Return the tokens that are scored, with their end."""
        ids = [*self._conventions.target.to_ids(target), self._conventions.end]
        return self._conventions.cut(ids, max_input_length)

    def start(self) -> _core.TokenJob:
        """Submit the pairs."""
        sources = [self._sources[index] for index in self._scored]
        self._job = self._client.score(sources, [self._targets[index][:-1] for index in self._scored])
        return self._job

    def is_done(self, index: int) -> bool:
        """Return whether a pair is scored."""
        place = self._places.get(index)
        return place is None or self._job is None or self._job.done(place)

    def result(self, index: int) -> ScoringResult:
        """Wait for a pair and return its result. Pairs with an empty source have the log probabilities 0."""
        tokens = self._conventions.target.to_tokens(self._targets[index])
        log_probabilities = [0.0] * len(tokens)
        place = self._places.get(index)
        if place is not None:
            assert self._job is not None
            self._job.wait_for(place)
            log_probabilities = self._job.log_probabilities(place)
            # A target that was cut may have lost its end, which the model scores in any case.
            del log_probabilities[len(tokens) :]
        return ScoringResult(tokens[self._offset :], log_probabilities[self._offset :])
