"""What the functions share: PySpark itself, columns, and progress."""

from __future__ import annotations

import functools
import importlib.util
from typing import TYPE_CHECKING, Any, Callable, Iterator

from ..errors import UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

#: Converts the Arrow batches of a partition.
BatchFunction = Callable[..., "Iterator[pa.RecordBatch]"]


def require_spark() -> None:
    """Raise the error that names the remedy unless PySpark is installed with the packages of its Arrow functions."""
    for name in ("pyspark", "pyarrow", "pandas"):  # mapInArrow() itself looks for pandas
        if importlib.util.find_spec(name) is None:
            raise UnsupportedError(
                f"dragoman.spark needs {name}; install it here and on every executor: pip install 'pyspark[sql]>=4'"
            )


def require_columns(frame: DataFrame, *names: str) -> None:
    """Raise the error that lists the columns of the frame unless each of these is there, and once."""
    for name in names:
        if name not in frame.columns:
            raise ValueError(f"the DataFrame has no column {name!r}; it has {', '.join(frame.columns)}")
        if frame.columns.count(name) > 1:
            raise ValueError(f"the DataFrame has {frame.columns.count(name)} columns {name!r}; rename them with toDF()")


def require_texts(frame: DataFrame, *names: str) -> None:
    """Raise the error that names the column and its type unless these are columns of text or of its bytes."""
    from pyspark.sql.types import BinaryType, StringType

    require_columns(frame, *names)
    for name in names:
        kind = frame.schema[name].dataType
        if not isinstance(kind, (BinaryType, StringType)):
            raise ValueError(f"the column {name!r} is of type {kind.simpleString()}; it must be string or binary")


def column_named(name: str) -> Column:
    """Return the column of this name, which may contain dots."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def lines_of(column: pa.Array) -> list[str | None]:
    """Return texts as the program reads lines: without a CR at the end, and with U+FFFD for what is not UTF-8."""
    import pyarrow as pa

    try:
        texts: list[str | None] = column.to_pylist()
    except UnicodeDecodeError:
        texts = column.cast(pa.large_binary()).to_pylist()
    decoded = (text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts)
    return [text.removesuffix("\r") if text else text for text in decoded]


def map_batches(frame: DataFrame, function: BatchFunction, schema: Any, **arguments: Any) -> DataFrame:
    """Return the frame whose partitions are those of the given one after the function.

    The function must be one of a module, so that executors import it instead of getting a copy of its code.
    """
    for name in frame.columns:
        if "." in name or "`" in name:
            raise ValueError(f"PySpark's mapInArrow() does not take the column {name!r}; rename it with withColumnRenamed()")
    return frame.mapInArrow(functools.partial(function, **arguments), schema)


def slices(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the rows in batches that take seconds.

    Spark sends 10,000 rows at a time. When it cancels a task, the Python process learns of it from the next batch that it
    writes, and until then it keeps the cores.
    """
    for batch in batches:
        for begin in range(0, batch.num_rows, 512):
            yield batch.slice(begin, 512)


def with_columns(frame: DataFrame, function: BatchFunction, columns: dict[str, Any], **arguments: Any) -> DataFrame:
    """Return the frame with further columns, which the function appends to each batch."""
    from pyspark.sql.types import StructField, StructType

    # Spark does not distinguish the case of names.
    present = {name.lower() for name in frame.columns}
    for name in columns:
        if name.lower() in present:
            raise ValueError(f"the DataFrame has a column {name!r} already; choose another name for the output, or drop it")
    added = [StructField(name, kind) for name, kind in columns.items()]
    return map_batches(frame, function, StructType([*frame.schema.fields, *added]), **arguments)


def append_columns(batch: pa.RecordBatch, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return the batch with further columns."""
    import pyarrow as pa

    arrays, names = [*batch.columns, *columns.values()], [*batch.schema.names, *columns]
    return pa.RecordBatch.from_arrays(arrays, names)


def task_threads(threads: int) -> int:
    """Return the threads of this task: those asked for, otherwise the cores that Spark reserved for it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return threads or (context.cpus() if context is not None else 1)


class Progress:
    """Counts what the tasks of a job have done, in accumulators of Spark.

    A task reports when it is complete. A task that Spark runs twice counts twice, so these are figures to watch, while
    the DataFrames are exact.

    Parameters
    ----------
    session
        The session of the job.

    Examples
    --------
    >>> progress = Progress(session)  # doctest: +SKIP
    >>> translate(frame, "models/de-en", progress=progress).write.parquet("out")  # doctest: +SKIP
    >>> progress.lines, progress.tokens, progress.seconds  # doctest: +SKIP
    (1000000, 21467215, 5230.1)
    """

    def __init__(self, session: SparkSession) -> None:
        require_spark()
        context = session.sparkContext
        self._lines, self._tokens = context.accumulator(0), context.accumulator(0)
        self._seconds = context.accumulator(0.0)

    @property
    def lines(self) -> int:
        """The number of rows."""
        return int(self._lines.value)

    @property
    def tokens(self) -> int:
        """The number of tokens of translations, of scored targets, or of encoded texts."""
        return int(self._tokens.value)

    @property
    def seconds(self) -> float:
        """The time of all tasks together, without opening the model."""
        return float(self._seconds.value)

    def add(self, lines: int, tokens: int, seconds: float) -> None:
        """Add the work of a task; executors call it."""
        self._lines.add(lines)
        self._tokens.add(tokens)
        self._seconds.add(seconds)

    def __repr__(self) -> str:
        return f"<dragoman.spark.Progress: {self.lines} lines, {self.tokens} tokens, {self.seconds:.1f} s>"
