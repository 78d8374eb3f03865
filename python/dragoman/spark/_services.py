"""Translations and scores of DataFrames."""

from __future__ import annotations

import collections
import difflib
import itertools
import time
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from typing_extensions import Unpack

from .._options import SearchOptions, TranslateOptions
from .._services import Scorer
from .._tokenizer import PathLike
from .._translator import Translation, Translator
from ..errors import BadInputError
from ._models import Place, open_model
from ._session import Progress, append_columns, lines_of, require_spark, require_texts, slices, task_threads, with_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def translate(
    frame: DataFrame,
    model: PathLike,
    *,
    column: str = "text",
    output: str = "translation",
    score: str | None = None,
    threads: int = 0,
    device: str = "cpu",
    compute: str = "stored",
    queued: int = 1024,
    progress: Progress | None = None,
    **options: Unpack[TranslateOptions],
) -> DataFrame:
    """Return the DataFrame with the best translation of each row in a further column.

    Rows keep their order and their partitions; nothing is shuffled. Each Python process of an executor opens the model
    once, and streams its rows through it in bounded memory. A missing text has a missing translation.

    Parameters
    ----------
    frame
        The DataFrame of texts, such as that of `read_lines`.
    model
        A model folder or a model of another toolkit: the name that `add_model` returns, a path inside an archive of
        `addArchive`, or a path that all machines see. Shipped files come first.
    column, output
        The columns of the text and of the translation.
    score
        The name of a further column for the score of the translation.
    threads
        Threads of the model in each process. By default the cores of a task. Set `spark.task.cpus` to the cores of an
        executor, so that one process with one model uses all of them.
    device, compute
        As for `dragoman.Model`.
    queued
        How many rows are read ahead of the one whose translation is next.
    progress
        Counts lines, tokens and seconds.
    **options
        Those of `dragoman.Translator.translate`: the languages, `target_prefix`, `markup` and so on, and the options of
        the search.

    Examples
    --------
    >>> model = add_model(session, "models/de-en")  # doctest: +SKIP
    >>> translate(frame, model, column="german", output="english", beam_size=4)  # doctest: +SKIP
    DataFrame[german: string, english: string]
    """
    require_spark()
    require_texts(frame, column)
    if score == output:
        raise ValueError(f"output and score are both {output!r}; they must be two columns")
    _require_options("translate", options)
    from pyspark.sql.types import DoubleType, StringType

    columns: dict[str, Any] = {output: StringType(), **({score: DoubleType()} if score else {})}
    return with_columns(
        frame,
        _translate_batches,
        columns,
        column=column,
        names=list(columns),
        place=Place.of(model),
        machine=(threads, device, compute),
        queued=queued,
        progress=progress,
        options=dict(options),
    )


def score(
    frame: DataFrame,
    model: PathLike,
    *,
    source: str = "source",
    target: str = "target",
    output: str = "score",
    threads: int = 0,
    device: str = "cpu",
    compute: str = "stored",
    progress: Progress | None = None,
    length_penalty: str = "none",
    alpha: float | None = None,
    source_language: str = "",
    target_language: str = "",
) -> DataFrame:
    """Return the DataFrame with the score of each pair of texts in a further column.

    The score is the log probability of the target under the length penalty. A row without one of its texts has none.

    Parameters
    ----------
    frame
        The DataFrame of pairs.
    model, threads, device, compute, progress
        As for `translate`.
    source, target, output
        The columns of the texts, and of the score.
    length_penalty, alpha, source_language, target_language
        As for `dragoman.Scorer`.
    """
    require_spark()
    require_texts(frame, source, target)
    from pyspark.sql.types import DoubleType

    return with_columns(
        frame,
        _score_batches,
        {output: DoubleType()},
        pair=(source, target),
        output=output,
        place=Place.of(model),
        machine=(threads, device, compute),
        progress=progress,
        options={
            "length_penalty": length_penalty,
            "alpha": alpha,
            "source_language": source_language,
            "target_language": target_language,
        },
    )


def _require_options(function: str, options: Mapping[str, Any]) -> None:
    """Raise the error for a misspelt option on the driver, before a job starts."""
    known = [*TranslateOptions.__annotations__, *SearchOptions.__annotations__]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            error = BadInputError(f"{function}() has no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
            error.key = name
            raise error


def _translate_batches(
    batches: Iterator[pa.RecordBatch],
    *,
    column: str,
    names: list[str],
    place: Place,
    machine: tuple[int, str, str],
    queued: int,
    progress: Progress | None,
    options: TranslateOptions,
) -> Iterator[pa.RecordBatch]:
    """Translate a partition. Texts of the next batch are queued before the last ones of a batch are done."""
    reading: collections.deque[tuple[pa.RecordBatch, list[str | None]]] = collections.deque()

    def texts() -> Iterator[str]:
        for batch in slices(batches):
            reading.append((batch, lines_of(batch.column(column))))
            yield from (text or "" for text in reading[-1][1])

    stream = texts()
    first = next(stream, None)
    if first is None:
        return  # a partition without rows needs no model
    threads, device, compute = machine
    translator = Translator(open_model(place, task_threads(threads), device, compute))
    made: list[Translation] = []
    start = time.monotonic()
    lines = tokens = 0
    for best in translator.translate_n_best_iterable(itertools.chain([first], stream), queued=queued, **options):
        made.append(best[0])
        if len(made) == reading[0][0].num_rows:
            batch, given = reading.popleft()
            lines, tokens = lines + len(made), tokens + sum(len(each.tokens) for each in made)
            yield append_columns(batch, _columns(names, given, made))
            made = []
    if progress is not None:
        progress.add(lines, tokens, time.monotonic() - start)


def _columns(names: list[str], given: list[str | None], made: list[Translation]) -> dict[str, pa.Array]:
    import pyarrow as pa

    texts = pa.array([None if text is None else each.text for text, each in zip(given, made)], pa.string())
    scores = pa.array([None if text is None else each.score for text, each in zip(given, made)], pa.float64())
    return dict(zip(names, (texts, scores)))


def _score_batches(
    batches: Iterator[pa.RecordBatch],
    *,
    pair: tuple[str, str],
    output: str,
    place: Place,
    machine: tuple[int, str, str],
    progress: Progress | None,
    options: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    """Score a partition, batch by batch."""
    import pyarrow as pa

    threads, device, compute = machine
    scorer: Scorer | None = None
    lines, tokens, seconds = 0, 0, 0.0
    for batch in slices(batches):
        if scorer is None:
            scorer = Scorer(open_model(place, task_threads(threads), device, compute), **options)
        start = time.monotonic()
        sources, targets = (lines_of(batch.column(name)) for name in pair)
        pairs = [(i, a, b) for i, (a, b) in enumerate(zip(sources, targets)) if a is not None and b is not None]
        found: list[float | None] = [None] * batch.num_rows
        for (i, _, _), each in zip(pairs, scorer.score_batch([a for _, a, _ in pairs], [b for _, _, b in pairs])):
            found[i] = each.score
            tokens += len(each.tokens)
        lines, seconds = lines + batch.num_rows, seconds + time.monotonic() - start
        yield append_columns(batch, {output: pa.array(found, pa.float64())})
    if progress is not None:
        progress.add(lines, tokens, seconds)
