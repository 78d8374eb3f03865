"""Token ids of DataFrames."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Iterator, Literal, Union

from .._tokenizer import PathLike, Tokenizer
from ._models import Place, open_tokenizer
from ._session import Progress, append_columns, require_spark, require_texts, task_threads, with_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def encode(
    frame: DataFrame,
    tokenizer: Union[Tokenizer, PathLike],
    *,
    column: str = "text",
    output: str = "tokens",
    format: Literal["ids", "pieces"] = "ids",
    mode: str = "exact",
    match_special_tokens: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> DataFrame:
    """Return the DataFrame with the tokens of each row in a further column, an array.

    Rows keep their order and their partitions. A missing text has no array.

    Parameters
    ----------
    frame
        The DataFrame of texts, such as that of `read_lines`.
    tokenizer
        A tokenizer, which is sent to the executors, or the path of a file as for the model of `translate`.
    column, output
        The columns of the text and of the tokens.
    format
        "ids" for an array of int, "pieces" for an array of strings.
    mode, match_special_tokens
        As for `dragoman.Tokenizer.encode`. "exact" and "greedy" are supported: random segmentations depend on the
        number of a line, which rows do not have.
    threads
        Threads of each task. By default the cores of a task. The result does not depend on it.
    progress
        Counts lines, tokens and seconds.
    """
    require_spark()
    require_texts(frame, column)
    for name, value, choices in (("format", format, ("ids", "pieces")), ("mode", mode, ("exact", "greedy"))):
        if value not in choices:
            raise ValueError(f"{name} is {value!r}; it must be {' or '.join(choices)}")
    from pyspark.sql.types import ArrayType, IntegerType, StringType

    return with_columns(
        frame,
        _encode_batches,
        {output: ArrayType(IntegerType() if format == "ids" else StringType())},
        column=column,
        output=output,
        tokenizer=tokenizer if isinstance(tokenizer, Tokenizer) else Place.of(tokenizer),
        pieces=format == "pieces",
        mode=mode,
        match_special_tokens=match_special_tokens,
        threads=threads,
        progress=progress,
    )


def _encode_batches(
    batches: Iterator[pa.RecordBatch],
    *,
    column: str,
    output: str,
    tokenizer: Union[Tokenizer, Place],
    pieces: bool,
    mode: str,
    match_special_tokens: bool,
    threads: int,
    progress: Progress | None,
) -> Iterator[pa.RecordBatch]:
    """Encode a partition, batch by batch, as bytes: the tokenizer decides what is not UTF-8."""
    import pyarrow as pa

    opened = tokenizer if isinstance(tokenizer, Tokenizer) else open_tokenizer(tokenizer)
    names = pa.array(opened.tokens(), pa.string()) if pieces else None
    start, lines, tokens = time.monotonic(), 0, 0
    for batch in batches:
        texts = batch.column(column).cast(pa.large_binary()).to_pylist()
        encoded = opened.encode_batch(
            [text or b"" for text in texts],
            threads=task_threads(threads),
            mode=mode,
            match_special_tokens=match_special_tokens,
        )
        values = pa.array(encoded.ids, pa.int32())
        missing = pa.array([text is None for text in texts], pa.bool_())
        offsets = pa.array(encoded.offsets if len(texts) else [0], pa.int32())
        arrays = pa.ListArray.from_arrays(offsets, values if names is None else names.take(values), mask=missing)
        lines, tokens = lines + len(texts), tokens + len(encoded.ids)
        yield append_columns(batch, {output: arrays})
    if progress is not None:
        progress.add(lines, tokens, time.monotonic() - start)
