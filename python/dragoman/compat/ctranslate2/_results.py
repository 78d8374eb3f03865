"""The objects that methods return."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Generic, List, Optional, TypeVar

T = TypeVar("T")

Attention = List[List[float]]


class TranslationResult:
    """A translation result.

    Attributes
    ----------
    hypotheses
        The tokens of each hypothesis, best first.
    scores
        The score of each hypothesis; empty without `return_scores`.
    attention
        The attention of each hypothesis, one row per token; empty without `return_attention`.
    logits
        Always empty: `return_logits_vocab` is not available.
    """

    __slots__ = ("attention", "hypotheses", "logits", "scores")

    def __init__(
        self,
        hypotheses: list[list[str]],
        scores: list[float] | None = None,
        attention: list[Attention] | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.scores = scores or []
        self.attention = attention or []
        self.logits: list[Any] = []

    def __repr__(self) -> str:
        return (
            f"TranslationResult(hypotheses={self.hypotheses}, scores={self.scores}, attention={self.attention}, "
            f"logits={self.logits})"
        )

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __getitem__(self, index: int) -> dict[str, Any]:
        warnings.warn(
            "Reading the TranslationResult object as a list of dictionaries is deprecated; use its attributes",
            DeprecationWarning,
            stacklevel=2,
        )
        if not 0 <= index < len(self.hypotheses):
            raise IndexError(index)
        hypothesis: dict[str, Any] = {"tokens": self.hypotheses[index]}
        if self.scores:
            hypothesis["score"] = self.scores[index]
        if self.attention:
            hypothesis["attention"] = self.attention[index]
        return hypothesis


class ScoringResult:
    """The log probability of each of `tokens`."""

    __slots__ = ("log_probs", "tokens")

    def __init__(self, tokens: list[str], log_probs: list[float]) -> None:
        self.tokens = tokens
        self.log_probs = log_probs

    def __repr__(self) -> str:
        return f"ScoringResult(tokens={self.tokens}, log_probs={self.log_probs})"


class GenerationStepResult:
    """A token that was generated.

    Attributes
    ----------
    step, batch_id, hypothesis_id
        The position of the token, the index of the source in the batch, and the index of the sample.
    token_id, token
        The token.
    log_prob
        Its log probability, or None without scores.
    is_last
        Whether it ends the hypothesis.
    """

    __slots__ = ("batch_id", "hypothesis_id", "is_last", "log_prob", "logits", "step", "token", "token_id")

    def __init__(
        self,
        step: int,
        batch_id: int,
        token_id: int,
        hypothesis_id: int,
        token: str,
        log_prob: Optional[float],
        is_last: bool,
    ) -> None:
        self.step = step
        self.batch_id = batch_id
        self.token_id = token_id
        self.hypothesis_id = hypothesis_id
        self.token = token
        self.log_prob = log_prob
        self.logits = None
        self.is_last = is_last

    def __repr__(self) -> str:
        return (
            f"GenerationStepResult(step={self.step}, batch_id={self.batch_id}, token_id={self.token_id}, "
            f"hypothesis_id={self.hypothesis_id}, token={self.token!r}, log_prob={self.log_prob}, logits=None, "
            f"is_last={self.is_last})"
        )


class ExecutionStats:
    """Statistics of a file: output tokens, lines, and milliseconds."""

    __slots__ = ("num_examples", "num_tokens", "total_time_in_ms")

    def __init__(self, num_tokens: int, num_examples: int, total_time_in_ms: float) -> None:
        self.num_tokens = num_tokens
        self.num_examples = num_examples
        self.total_time_in_ms = total_time_in_ms

    def __repr__(self) -> str:
        return (
            f"ExecutionStats(num_tokens={self.num_tokens}, num_examples={self.num_examples}, "
            f"total_time_in_ms={self.total_time_in_ms})"
        )


class _AsyncResult(Generic[T]):
    """A result that may not be known yet."""

    __slots__ = ("_done", "_error", "_get", "_value")

    def __init__(self, get: Callable[[], T], done: Callable[[], bool]) -> None:
        self._get: Callable[[], T] | None = get
        self._done = done
        self._value: T | None = None
        self._error: BaseException | None = None

    def result(self) -> T:
        """Wait for the result and return it, or raise its error."""
        if self._get is not None:
            try:
                self._value = self._get()
            except Exception as error:  # a KeyboardInterrupt is not the result
                self._error = error
            self._get = None
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def done(self) -> bool:
        """Return whether the result is known."""
        return self._get is None or self._done()


class AsyncTranslationResult(_AsyncResult[TranslationResult]):
    """A translation that may not be finished."""


class AsyncScoringResult(_AsyncResult[ScoringResult]):
    """A score that may not be finished."""
