"""Iterables and files of tokens, and tokens as they are generated."""

from __future__ import annotations

import collections
import itertools
import queue
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Protocol, Sequence, TypeVar, Union

from ._results import ExecutionStats, GenerationStepResult, ScoringResult, TranslationResult

T = TypeVar("T", covariant=True)
Tokenize = Callable[[str], Sequence[str]]
Detokenize = Callable[[Sequence[str]], str]
PathLike = Union[str, Path]

#: How many examples are read ahead at least. More gives the workers more to choose from.
_WINDOW = 512


class Pending(Protocol[T]):
    """A result that may not be known yet."""

    def result(self) -> T:
        """Wait for the result."""

    def done(self) -> bool:
        """Return whether it is known."""


def check_batches(max_batch_size: int, batch_type: str, least: int = 0) -> None:
    """Raise ValueError for a batch size that CTranslate2 refuses. Results do not depend on it."""
    if max_batch_size < least:
        raise ValueError(f"max_batch_size must be >= {least}")
    if batch_type not in ("examples", "tokens"):
        raise ValueError(f"Invalid batch type {batch_type}; it must be examples or tokens")


def together(*iterables: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield tuples of the elements of all iterables; one that is shorter is a ValueError."""
    missing = object()
    for elements in itertools.zip_longest(*iterables, fillvalue=missing):
        if any(element is missing for element in elements):
            raise ValueError("Input iterables do not have the same length")
        yield elements


def results_of(
    submit: Callable[[list[Any]], Sequence[Pending[T]]], examples: Iterator[Any], window: int = _WINDOW
) -> Iterator[T]:
    """Yield the results of examples in order, in bounded memory. The next window is submitted before one is read."""
    waiting: collections.deque[Pending[T]] = collections.deque()
    while batch := list(itertools.islice(examples, window)):
        waiting.extend(submit(batch))
        while len(waiting) > window or (waiting and waiting[0].done()):
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def tokens_as_generated(
    translate: Callable[..., Sequence[Pending[TranslationResult]]], **options: Any
) -> Iterator[GenerationStepResult]:
    """Yield the tokens that a callback of `translate` receives."""
    steps: queue.Queue[GenerationStepResult | BaseException | None] = queue.Queue()
    closed = threading.Event()

    def receive(step: GenerationStepResult) -> bool:
        steps.put(step)
        return closed.is_set()

    def wait() -> None:
        try:
            for result in translate(callback=receive, **options):
                result.result()
        except BaseException as error:
            steps.put(error)
        steps.put(None)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        while (step := steps.get()) is not None:
            if isinstance(step, BaseException):
                raise step
            yield step
    finally:
        closed.set()
        thread.join()


def split(line: str) -> list[str]:
    """Return the tokens of a line."""
    return [token for token in line.split(" ") if token]


def _lines(path: PathLike) -> Iterator[str]:
    try:
        file = open(path, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise RuntimeError(f"Unable to open the file {path}: {error.strerror}") from error
    with file:
        for line in file:
            yield line.rstrip("\r\n")


def examples_of(paths: Sequence[PathLike], tokenizers: Sequence[Tokenize]) -> Iterator[tuple[Sequence[str], ...]]:
    """Yield the tokens of the lines of parallel files."""
    missing = object()
    for lines in itertools.zip_longest(*map(_lines, paths), fillvalue=missing):
        for path, line in zip(paths, lines):
            if line is missing:
                raise RuntimeError(f"{path} has less examples than the other file")
        yield tuple(tokenize(line) for tokenize, line in zip(tokenizers, lines))  # type: ignore[arg-type]


class ResultFile:
    """Writes results as lines, and counts them."""

    def __init__(self, path: PathLike, detokenize: Detokenize) -> None:
        self._detokenize = detokenize
        self._begin = time.perf_counter()
        self._tokens = self._examples = 0
        try:
            self._file = open(path, "w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise RuntimeError(f"Unable to open the file {path}: {error.strerror}") from error

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def write_translation(self, result: TranslationResult, with_scores: bool) -> None:
        """Write a line for each hypothesis."""
        self._examples += 1
        self._tokens += len(result.hypotheses[0])
        for place, tokens in enumerate(result.hypotheses):
            score = f"{result.scores[place]:.6g} ||| " if with_scores else ""
            self._file.write(f"{score}{self._detokenize(tokens)}\n")

    def write_score(self, result: ScoringResult, with_tokens: bool) -> None:
        """Write the mean score, the tokens, and their scores if asked for."""
        self._examples += 1
        self._tokens += len(result.log_probs)
        mean = sum(result.log_probs) / max(len(result.log_probs), 1)
        scores = "".join(f" {score:.6g}" for score in result.log_probs)
        self._file.write(f"{mean:.6g} ||| {self._detokenize(result.tokens)}{' |||' + scores if with_tokens else ''}\n")

    def stats(self) -> ExecutionStats:
        """Return what was counted."""
        return ExecutionStats(self._tokens, self._examples, (time.perf_counter() - self._begin) * 1000)
