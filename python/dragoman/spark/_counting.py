"""Counts of words, and vocabularies from them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Iterator

from typing_extensions import Unpack

from .._options import LearnBpeOptions, LogFunction, ProgressFunction
from .._tokenizer import PathLike, Tokenizer
from .._tokenizer import learn_bpe as learn_bpe_here
from ._program import program, require_success
from ._session import Progress, map_batches, require_columns, require_spark, task_threads

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame



def count_words(
    frame: DataFrame,
    *,
    column: str = "text",
    invalid_utf8: str = "keep",
    memory: str | None = None,
    threads: int = 0,
    progress: Progress | None = None,
) -> DataFrame:
    """Return how often each word occurs, as `dragoman count-words` counts: columns `word` (bytes) and `count`.

    Each task counts its partition with the program, and Spark adds the counts. Counts can be merged: join frames with
    `union`, and `learn_bpe` and `save_counts` add the counts of a word.

    Parameters
    ----------
    frame
        The DataFrame of texts, such as that of `read_lines`.
    column
        The column of text.
    invalid_utf8
        Bytes that are not UTF-8: "keep", "replace" (by U+FFFD) or "fail".
    memory
        A limit for each task, such as "2GB"; data beyond it goes to temporary files.
    threads
        Threads of each task. By default the cores of a task (`spark.task.cpus`). The result does not depend on it.
    progress
        Counts lines and seconds.
    """
    require_spark()
    require_columns(frame, column)
    texts = frame.select(frame[column].cast("binary").alias("text"))
    counted = map_batches(
        texts,
        _count_batches,
        "word binary, count bigint",
        options=["--invalid-utf8", invalid_utf8, *(["--memory", memory] if memory else [])],
        threads=threads,
        progress=progress,
    )
    return _added(counted)


def _added(counts: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return counts.groupBy("word").agg(F.sum("count").alias("count"))


def _count_batches(
    batches: Iterator[pa.RecordBatch], *, options: list[str], threads: int, progress: Progress | None
) -> Iterator[pa.RecordBatch]:
    """Count the words of a partition with the program of this package."""
    import pyarrow as pa

    command = [program(), "count-words", "-", "--quiet", "--threads", str(task_threads(threads)), *options]
    start, lines = time.monotonic(), 0
    with tempfile.TemporaryFile() as messages:
        # It writes counts after it has read all text, so that neither pipe waits for the other.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages) as counting:
            assert counting.stdin is not None and counting.stdout is not None
            try:
                for batch in batches:
                    lines += batch.num_rows
                    counting.stdin.write(_joined(batch.column(0)))
                counting.stdin.close()
            except BrokenPipeError:
                pass  # its message says why
            while found := counting.stdout.readlines(1 << 20):
                pairs = [line[:-1].split(b"\t", 1) for line in found]  # a word may contain tabs
                counts = pa.array([int(count) for count, _ in pairs], pa.int64())
                yield pa.RecordBatch.from_arrays([pa.array([word for _, word in pairs], pa.binary()), counts], ["word", "count"])
        require_success(counting.returncode, "count-words", messages)
    if progress is not None:
        progress.add(lines, 0, time.monotonic() - start)


def _joined(texts: pa.Array) -> bytes:
    """Return texts as lines."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(texts):
        return b""
    filled = pc.fill_null(texts.cast(pa.large_binary()), b"")
    lines = pa.LargeListArray.from_arrays(pa.array([0, len(filled)], pa.int64()), filled)
    joined: bytes = pc.binary_join(lines, pa.scalar(b"\n", pa.large_binary()))[0].as_py()
    return joined + b"\n"


def save_counts(counts: DataFrame, file: PathLike) -> None:
    """Write counts to a file on the driver's machine, with the bytes of `dragoman count-words` on the whole text.

    Parameters
    ----------
    counts
        The counts of `count_words`, or a union of several.
    file
        The file; `dragoman learn-bpe --counts` and `dragoman count-words --counts` read it. It appears when it is
        complete.
    """
    require_spark()
    require_columns(counts, "word", "count")
    _write(_added(counts).orderBy("word"), Path(file))


def _write(counts: DataFrame, file: Path) -> None:
    chunks = map_batches(counts.select("word", "count"), _format_batches, "lines binary")
    partial = file.with_name(file.name + ".partial")
    with open(partial, "wb") as output:
        for row in chunks.toLocalIterator(prefetchPartitions=True):
            output.write(row.lines)
        output.flush()
        os.fsync(output.fileno())
    partial.replace(file)


def _format_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the lines of a count file, many in one value: rows cost the driver more than bytes."""
    import pyarrow as pa

    for batch in batches:
        words, counts = batch.column(0).to_pylist(), batch.column(1).to_pylist()
        lines = b"".join([b"%d\t%s\n" % pair for pair in zip(counts, words)])
        yield pa.RecordBatch.from_arrays([pa.array([lines], pa.binary())], ["lines"])


def learn_bpe(
    counts: DataFrame,
    *,
    progress: ProgressFunction | bool | None = None,
    log: LogFunction | None = None,
    **options: Unpack[LearnBpeOptions],
) -> Tokenizer:
    """Learn a BPE vocabulary on the driver from counts; the result has the bytes of `dragoman learn-bpe` on the text.

    Parameters
    ----------
    counts
        The counts of `count_words`, or a union of several. They cross to a temporary file of the driver, and learning
        keeps them in its memory unless `memory` limits it. `counts.where("count > 1")` drops rare words before they
        reach the driver.
    progress, log, **options
        Those of `dragoman.learn_bpe`.

    Examples
    --------
    >>> tokenizer = learn_bpe(count_words(frame), vocab_size=32000)  # doctest: +SKIP
    >>> tokenizer.save("tokenizer.json")  # doctest: +SKIP
    """
    require_spark()
    require_columns(counts, "word", "count")
    with tempfile.TemporaryDirectory(prefix="dragoman-") as folder:
        file = Path(folder) / "counts"
        _write(counts, file)
        return learn_bpe_here(counts=file, progress=progress, log=log, **options)
