"""Scores of given translations."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Literal, Optional, Sequence, overload

from . import _streams
from ._model_holder import ModelHolder
from ._results import AsyncScoringResult, ExecutionStats, ScoringResult
from ._scores import ScoreBatch
from ._streams import Detokenize, PathLike, Tokenize

Tokens = Sequence[str]
Sources = Sequence[Tokens]


class Scoring(ModelHolder):
    """The part of a translator that scores given translations."""

    @overload
    def score_batch(
        self,
        source: Sources,
        target: Sources,
        *,
        max_batch_size: int = ...,
        batch_type: str = ...,
        max_input_length: int = ...,
        offset: int = ...,
        asynchronous: Literal[True],
    ) -> list[AsyncScoringResult]: ...
    @overload
    def score_batch(
        self,
        source: Sources,
        target: Sources,
        *,
        max_batch_size: int = ...,
        batch_type: str = ...,
        max_input_length: int = ...,
        offset: int = ...,
        asynchronous: Literal[False] = ...,
    ) -> list[ScoringResult]: ...
    def score_batch(
        self,
        source: Sources,
        target: Sources,
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
        asynchronous: bool = False,
    ) -> list[ScoringResult] | list[AsyncScoringResult]:
        """Return the log probability of each token of given translations, the end included.

        Parameters
        ----------
        source, target
            The tokens of each pair.
        max_batch_size, batch_type
            Have no effect.
        max_input_length
            Longer sources and targets are cut; 0 for no limit.
        offset
            The number of tokens at the beginning of targets that results leave out.
        asynchronous
            Whether to return at once, with results that can be waited for.
        """
        _streams.check_batches(max_batch_size, batch_type)
        loaded = self._ready()
        batch = ScoreBatch(loaded.client, loaded.conventions, source, target, max_input_length, offset)
        job = batch.start()
        self._track(lambda: job.open > 0)
        if not asynchronous:
            job.wait()
            return [batch.result(index) for index in range(len(source))]

        def result(index: int) -> AsyncScoringResult:
            return AsyncScoringResult(lambda: (loaded, batch.result(index))[1], lambda: batch.is_done(index))

        return [result(index) for index in range(len(source))]

    def score_iterable(
        self,
        source: Iterable[Tokens],
        target: Iterable[Tokens],
        max_batch_size: int = 64,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[ScoringResult]:
        """Yield the score of each pair, in order, in bounded memory. The options are those of `score_batch`."""
        _streams.check_batches(max_batch_size, batch_type, 1)
        yield from _streams.results_of(
            lambda batch: self.score_batch(
                [each[0] for each in batch], [each[1] for each in batch], asynchronous=True, **options
            ),
            _streams.together(source, target),
        )

    def score_file(
        self,
        source_path: PathLike,
        target_path: PathLike,
        output_path: PathLike,
        *,
        max_batch_size: int = 32,
        read_batch_size: int = 0,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
        with_tokens_score: bool = False,
        source_tokenize_fn: Optional[Tokenize] = None,
        target_tokenize_fn: Optional[Tokenize] = None,
        target_detokenize_fn: Optional[Detokenize] = None,
    ) -> ExecutionStats:
        """Score parallel files. A line of the output has the mean log probability and the tokens."""
        _streams.check_batches(max_batch_size, batch_type)
        functions = (source_tokenize_fn, target_tokenize_fn, target_detokenize_fn)
        if any(functions) and not all(functions):
            raise ValueError(
                "source_tokenize_fn, target_tokenize_fn, and target_detokenize_fn should all be set or none at all"
            )
        self._ready()
        tokenizers = [source_tokenize_fn or _streams.split, target_tokenize_fn or _streams.split]

        def submit(batch: list[Any]) -> list[AsyncScoringResult]:
            sources, targets = [each[0] for each in batch], [each[1] for each in batch]
            return self.score_batch(
                sources, targets, max_input_length=max_input_length, offset=offset, asynchronous=True
            )

        with _streams.ResultFile(output_path, target_detokenize_fn or " ".join) as output:
            for result in _streams.results_of(submit, _streams.examples_of([source_path, target_path], tokenizers)):
                output.write_score(result, with_tokens_score)
            return output.stats()
