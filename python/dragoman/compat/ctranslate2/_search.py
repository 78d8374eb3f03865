"""Translation of batches of tokens."""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

from dragoman import _core
from dragoman._options import to_json

from ._conventions import Conventions
from ._options import Options
from ._results import Attention, GenerationStepResult, TranslationResult
from ._vocabulary_map import VocabularyMap

#: A hypothesis of `TokenJob.hypotheses`: tokens, score, log probabilities, end or -1, attention or None.
Found = tuple[list[int], float, list[float], int, Any]


class Batch:
    """The sources of one call, their prefixes, and the options.

    `start` submits them; `result` converts the hypotheses of one source.
    """

    def __init__(
        self,
        client: _core.TokenClient,
        conventions: Conventions,
        sources: Sequence[Sequence[str]],
        prefixes: Sequence[Sequence[str] | None] | None,
        options: Options,
        vocabulary_map: VocabularyMap | None,
    ) -> None:
        if prefixes is not None and len(prefixes) != len(sources):
            raise ValueError(f"{len(sources)} sources have a target_prefix of the length {len(prefixes)}")
        options.check()
        self._client = client
        self._conventions = conventions
        self._options = options
        self._map = vocabulary_map if options.use_vmap else None
        self._sources = sources
        target = conventions.target
        self._prefixes = [target.to_ids(prefix or ()) for prefix in prefixes or [()] * len(sources)]
        self._search = options.search(target)
        self._sampling = options.sampling(target)
        #: What is searched: the indices of sources with content, and not complete with their prefix.
        self._searched = [
            index
            for index, source in enumerate(sources)
            if conventions.has_content(source) and not self._is_complete(index)
        ]
        self._places = {index: place for place, index in enumerate(self._searched)}
        self._job: _core.TokenJob | None = None

    def _is_complete(self, index: int) -> bool:
        return (
            self._options.prefix_bias_beta == 0 and len(self._prefixes[index]) >= self._options.max_decoding_length
        )

    def start(self, first_line: int, seed: int) -> _core.TokenJob:
        """Submit the sources. `first_line` counts the sources of earlier calls, for random numbers."""
        self._job = self._submit(
            [self._source_ids(index) for index in self._searched],
            [self._prefixes[index] for index in self._searched],
            self._search,
            [self._allowed(index, self._prefixes[index]) for index in self._searched] if self._map else [],
            lines=[first_line + index for index in self._searched],
            seed=seed,
            callback=self._callback(),
        )
        return self._job

    def _source_ids(self, index: int) -> list[int]:
        return self._conventions.source_ids(self._sources[index], self._options.max_input_length)

    def _allowed(self, index: int, prefix: list[int]) -> list[int]:
        assert self._map is not None
        return self._map.allowed(self._sources[index], prefix)

    def _submit(
        self,
        sources: list[list[int]],
        prefixes: list[list[int]],
        search: dict[str, Any],
        allowed: list[list[int]],
        *,
        lines: list[int] | None = None,
        seed: int = 0,
        callback: Callable[..., bool] | None = None,
    ) -> _core.TokenJob:
        sampling = self._sampling if search["decoder"] == "sampling" else None
        bias = self._options.prefix_bias_beta
        options = to_json(search)
        return self._client.search(
            sources, prefixes, options, bias, sampling, seed, lines or [], allowed, callback
        )

    def _callback(self) -> Callable[..., bool] | None:
        call = self._options.callback
        if call is None:
            return None
        tokens, scored, indices = self._conventions.target.tokens, self._options.return_scores, self._searched

        # Without `self`: the job holds the frames of an exception, and the batch holds the job.
        def tell(place: int, sample: int, step: int, token: int, log_probability: float, is_last: bool) -> bool:
            score = log_probability if scored else None
            return bool(call(GenerationStepResult(step, indices[place], token, sample, tokens[token], score, is_last)))

        return tell

    def is_done(self, index: int) -> bool:
        """Return whether the search of a source has ended."""
        place = self._places.get(index)
        return place is None or self._job is None or self._job.done(place)

    def result(self, index: int) -> TranslationResult:
        """Wait for a source and return its result."""
        if not self._conventions.has_content(self._sources[index]):
            return self._empty(index)
        if self._is_complete(index):
            return self._complete(index)
        assert self._job is not None
        place = self._places[index]
        self._job.wait_for(place)
        return self._convert(index, self._job.hypotheses(place))

    def _convert(self, index: int, found: Sequence[Found]) -> TranslationResult:
        options, target = self._options, self._conventions.target
        hypotheses: list[list[str]] = []
        attention: list[Attention] = []
        for ids, _, _, end, weights in found:
            tokens = target.to_tokens(ids)
            if options.return_end_token and end >= 0:
                tokens.append(target.tokens[end])
            if weights is not None:
                rows = [self._of_source(index, row) for row in weights[: len(tokens)]]
                if options.replace_unknowns:
                    self._replace(index, tokens, rows)
                attention.append(rows)
            hypotheses.append(tokens)
        return TranslationResult(
            hypotheses,
            [each[1] for each in found] if options.return_scores else None,
            attention if options.return_attention else None,
        )

    def _of_source(self, index: int, row: list[float]) -> list[float]:
        """Return the weights of the tokens that the caller gave."""
        source = self._sources[index]
        end = len(row) - self._conventions.adds_end(source)
        weights = row[len(self._conventions.source_begin) : end][: len(source)]
        return weights + [0.0] * (len(source) - len(weights))

    def _replace(self, index: int, tokens: list[str], attention: Attention) -> None:
        unknown = self._conventions.target.tokens[self._conventions.unknown]
        for place, token in enumerate(tokens):
            if token == unknown:
                row = attention[place]
                tokens[place] = self._sources[index][row.index(max(row))]

    def _empty(self, index: int) -> TranslationResult:
        """The result of a source without content: its prefix."""
        options = self._options
        tokens = self._conventions.target.to_tokens(self._prefixes[index][: options.max_decoding_length])
        rows = [[0.0] * len(self._sources[index]) for _ in tokens]
        count = options.num_hypotheses
        return TranslationResult(
            [list(tokens) for _ in range(count)],
            [0.0] * count if options.return_scores else None,
            [rows] * count if options.return_attention else None,
        )

    def _complete(self, index: int) -> TranslationResult:
        """The result of a source whose prefix has the maximum length."""
        options = self._options
        prefix = self._prefixes[index][: options.max_decoding_length]
        weights = None
        if options.needs_attention:
            search = {**self._search, "decoder": "greedy", "n_best": 1}
            search.pop("beam_size", None), search.pop("patience", None)
            job = self._submit([self._source_ids(index)], [prefix[:-1]], search, [])
            job.wait()
            weights = job.hypotheses(0)[0][4]
        found: Found = (prefix, 0.0, [], -1, weights)
        return self._convert(index, [found] * options.num_hypotheses)

    def alternatives(self, index: int) -> TranslationResult:
        """Return translations that differ in the first token after the prefix, best token first."""
        if not self._conventions.has_content(self._sources[index]):
            return self._empty(index)
        if self._is_complete(index):
            return self._complete(index)
        options, prefix, source = self._options, self._prefixes[index], self._source_ids(index)
        count = options.num_hypotheses
        length = len(prefix) + 1
        expand = {
            **self._search,
            "decoder": "beam",
            "beam_size": count,
            "n_best": count,
            "patience": 1,
            "alpha": 0,
            "coverage_penalty": 0,
            "minimum_length": length,
            "maximum_length": length,
            "prefix_role": "context",
        }
        allowed = [self._allowed(index, prefix)] if self._map else []
        job = self._submit([source], [prefix], expand, allowed)
        job.wait()
        expanded: list[Found] = [
            each for each in job.hypotheses(0) if math.exp(each[1]) >= options.min_alternative_expansion_prob
        ]
        if length == options.max_decoding_length or not expanded:
            return self._convert(index, expanded)
        search = {**self._search, "n_best": 1, "prefix_role": "context"}
        prefixes = [each[0] for each in expanded]
        job = self._submit([source] * len(prefixes), prefixes, search, allowed * len(prefixes))
        job.wait()
        found: list[Found] = []
        for place, (_, score, *_rest) in enumerate(expanded):
            tokens, suffix_score, log_probabilities, end, attention = job.hypotheses(place)[0]
            found.append((tokens, score + suffix_score, log_probabilities, end, attention))
        return self._convert(index, found)
