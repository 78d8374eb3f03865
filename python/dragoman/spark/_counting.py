"""Counts of words, and vocabularies from them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Iterator

from typing_extensions import Unpack

from .._options import LearnBpeOptions, LogFunction, ProgressFunction
from .._temporary import temporary_folder
from .._tokenizer import PathLike, Tokenizer
from .._tokenizer import learn_bpe as learn_bpe_here
from ..errors import BadInputError
from ._lines import require_plain_file
from ._program import program, require_options, require_success
from ._session import Progress, column_named, map_batches, require_columns, require_spark, require_texts, task_threads

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: What a task reads by default: docs/guides/spark.md has the curve of distinct words that it was chosen by.
PARTITION_BYTES = 2 << 30


def count_words(
    frame: DataFrame,
    *,
    column: str = "text",
    invalid_utf8: str = "keep",
    memory: str | None = None,
    threads: int = 0,
    partition_bytes: int | None = PARTITION_BYTES,
    progress: Progress | None = None,
) -> DataFrame:
    """Return how often each word occurs, as `dragoman count-words` counts: columns `word` (bytes) and `count`.

    Each task counts its partition with the program, and Spark adds the counts. Counts can be merged: join frames with
    `union`, and `learn_bpe` and `save_counts` add the counts of a word.

    A task sends each of its distinct words once, so large partitions shuffle less. The partitions of the frame are
    therefore joined, without a shuffle, to partitions of about `partition_bytes`, but not to fewer than the cluster has
    cores when the function is called (`spark.default.parallelism`).

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
    partition_bytes
        The bytes that a task reads, in the files of the frame: compressed files count with their compressed size. None
        keeps the partitions of the frame, as it does where Spark does not know its size.
    progress
        Counts lines and seconds.
    """
    require_spark()
    require_texts(frame, column)
    options = ["--invalid-utf8", invalid_utf8, *(["--memory", memory] if memory else [])]
    require_options("count-words", "-", *options)
    texts = frame.select(column_named(column).cast("binary").alias("text"))
    if partition_bytes is not None:
        texts = texts.coalesce(_partitions(frame, partition_bytes))
    counted = map_batches(
        texts,
        _count_batches,
        "word binary, count bigint",
        options=options,
        threads=threads,
        progress=progress,
    )
    return _added(counted)


def _require_counts(counts: DataFrame) -> None:
    """Raise the error about the columns unless these are counts."""
    from pyspark.sql.types import IntegralType

    require_texts(counts, "word")
    require_columns(counts, "count")
    kind = counts.schema["count"].dataType
    if not isinstance(kind, IntegralType):
        raise ValueError(f"the column 'count' is of type {kind.simpleString()}; it must be bigint")


def _partitions(frame: DataFrame, partition_bytes: int) -> int:
    """Return the number of partitions of that size, at least the cores of the cluster. An unknown size gives the most."""
    if partition_bytes < 1:
        raise ValueError(f"partition_bytes is {partition_bytes}; it must be at least 1, or None")
    # The files' bytes. The size of the plan itself is a guess that casts and generated columns multiply.
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves().iterator()
    size = 0
    while leaves.hasNext():
        size += int(leaves.next().stats().sizeInBytes())
    cores: int = frame.sparkSession.sparkContext.defaultParallelism
    return min(max(cores, -(-size // partition_bytes)), 2**31 - 1)


def _added(counts: DataFrame, min_count: int = 1) -> DataFrame:
    """Return the counts of whole words. Rare ones are dropped here, since a word may be rare in each part alone."""
    from pyspark.sql import functions as F

    added = counts.groupBy("word").agg(F.sum("count").alias("count"))
    return added.where(F.col("count") >= min_count) if min_count > 1 else added


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
                with contextlib.suppress(BrokenPipeError):  # its message says why
                    counting.stdin.close()
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


def save_counts(counts: DataFrame, file: PathLike, *, min_count: int = 1) -> None:
    """Write counts to a file on the driver's machine, with the bytes of `dragoman count-words` on the whole text.

    Parameters
    ----------
    counts
        The counts of `count_words`, or a union of several.
    file
        The file; `dragoman learn-bpe --counts` and `dragoman count-words --counts` read it. It appears when it is
        complete.
    min_count
        Words that occur less often in the whole text are left out, before they reach the driver.
    """
    require_spark()
    _require_counts(counts)
    if Path(file).is_dir():
        raise IsADirectoryError(f"{file} is a folder; save_counts() writes a file")
    require_plain_file(os.fspath(file))
    _write(_added(counts, min_count).orderBy("word"), Path(file))


def _write(counts: DataFrame, file: Path) -> None:
    counts = counts.selectExpr("cast(word as binary) word", "cast(count as bigint) count")
    chunks = map_batches(counts, _format_batches, "lines binary")
    partial = file.with_name(file.name + ".partial")
    try:
        with open(partial, "wb") as output:
            for row in chunks.toLocalIterator(prefetchPartitions=True):
                output.write(row.lines)
            output.flush()
            os.fsync(output.fileno())
        partial.replace(file)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = os.fspath(partial)  # a full disk names no file
        raise


def _format_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the lines of a count file, many in one value: rows cost the driver more than bytes."""
    import pyarrow as pa

    for batch in batches:
        if batch.column(0).null_count or batch.column(1).null_count:
            raise BadInputError("the counts have a row without a word or without a count; leave it out with dropna()")
        words, counts = batch.column(0).to_pylist(), batch.column(1).to_pylist()
        lines = b"".join([b"%d\t%s\n" % pair for pair in zip(counts, words)])
        yield pa.RecordBatch.from_arrays([pa.array([lines], pa.binary())], ["lines"])


def learn_bpe(
    counts: DataFrame,
    *,
    min_count: int = 1,
    progress: ProgressFunction | bool | None = None,
    log: LogFunction | None = None,
    **options: Unpack[LearnBpeOptions],
) -> Tokenizer:
    """Learn a BPE vocabulary on the driver from counts; the result has the bytes of `dragoman learn-bpe` on the text.

    Parameters
    ----------
    counts
        The counts of `count_words`, or a union of several. They cross to a temporary file of the driver, and learning
        keeps them in its memory unless `memory` limits it.
    min_count
        Words that occur less often in the whole text do not reach the driver, as with `dragoman count-words --min-count`.
        The option `min_word_count` drops words on the driver, after normalisation and lower-casing.
    progress, log, **options
        Those of `dragoman.learn_bpe`.

    Examples
    --------
    >>> tokenizer = learn_bpe(count_words(frame), vocab_size=32000)  # doctest: +SKIP
    >>> tokenizer.save("tokenizer.json")  # doctest: +SKIP
    """
    require_spark()
    _require_counts(counts)
    with temporary_folder() as folder:
        file = folder / "counts"
        # The errors about options come before the count, which may take hours.
        file.write_text("1000000000\ta\n")
        learn_bpe_here(counts=file, log=lambda *said: None, **options)
        _write(_added(counts, min_count) if min_count > 1 else counts, file)
        return learn_bpe_here(counts=file, progress=progress, log=log, **options)
