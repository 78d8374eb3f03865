"""Filters of parallel corpora, and their global de-duplication."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Literal

from typing_extensions import TypedDict, Unpack

from ._program import program, require_success
from ._session import lines_of, map_batches, require_spark, require_texts

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_LINE = "__dragoman_line"
_RANK = "__dragoman_rank"
_KEYS = {"none": (), "pair": ("source", "target"), "source": ("source",), "target": ("target",)}


class PrepareOptions(TypedDict, total=False):
    """The filters of `dragoman prepare`; docs/guides/data.md explains them."""

    normalize: str
    squeeze_spaces: bool
    unit: Literal["words", "characters"]
    min_length: int
    max_length: int
    max_ratio: float
    max_word_length: int
    min_letters: float
    min_script: float
    source_script: str
    target_script: str
    min_numbers: float
    keep_identical: bool
    keep_control: bool
    drop_urls: bool
    drop_markup: bool


def prepare(
    frame: DataFrame,
    *,
    source: str = "source",
    target: str = "target",
    duplicates: Literal["pair", "source", "target", "none"] = "pair",
    ordered: bool = False,
    **filters: Unpack[PrepareOptions],
) -> DataFrame:
    """Return the pairs that `dragoman prepare` keeps, and of equal ones the first in the whole corpus.

    Parameters
    ----------
    frame
        The DataFrame of pairs. Other columns stay with their pairs.
    source, target
        The columns of the texts; after the filters they contain the normalised texts.
    duplicates
        What makes a pair a duplicate of an earlier one: "pair", "source" or "target" are equal. "none" keeps all.
    ordered
        Whether the pairs are in the order of the frame again; finding duplicates shuffles them.
    **filters
        The filters, as `max_length=100`. Scripts must be given, as `source_script="Latin"`, or switched off by
        `min_script=0`: a part of a corpus does not tell which script is the most frequent one of the whole.

    Examples
    --------
    >>> pairs = prepare(frame, source_script="Latin", target_script="Latin", max_ratio=3)  # doctest: +SKIP
    """
    require_spark()
    require_texts(frame, source, target)
    if taken := {_LINE, _RANK} & {name.lower() for name in frame.columns}:
        raise ValueError(f"prepare() adds a column {min(taken)!r} for a time, but the DataFrame has one; rename it")
    if duplicates not in _KEYS:
        raise ValueError(f"duplicates is {duplicates!r}; it must be one of {', '.join(_KEYS)}")
    for name in filters:
        if name not in PrepareOptions.__annotations__:
            raise TypeError(f"prepare() has no filter {name!r}; it has {', '.join(PrepareOptions.__annotations__)}")
    if filters.get("min_script") != 0 and not (filters.get("source_script") and filters.get("target_script")):
        raise ValueError('prepare() needs source_script and target_script, such as "Latin", or min_script=0')
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    options = _flags(dict(filters))
    _filtered([("a", "b")], options)  # an error of an option comes before a job starts
    numbered = frame.withColumn(_LINE, F.monotonically_increasing_id())
    kept = map_batches(numbered, _prepare_batches, numbered.schema, pair=(source, target), options=options)
    keys = [{"source": source, "target": target}[key] for key in _KEYS[duplicates]]
    if keys:
        rank = F.row_number().over(Window.partitionBy(*keys).orderBy(_LINE))
        kept = kept.withColumn(_RANK, rank).where(f"{_RANK} = 1").drop(_RANK)
    return (kept.orderBy(_LINE) if ordered and keys else kept).drop(_LINE)


def _flags(options: dict[str, Any]) -> list[str]:
    flags = []
    for name, value in options.items():
        if value is not False and value is not None:
            flags += ["--" + name.replace("_", "-"), *([] if value is True else [str(value)])]
    return flags


def _prepare_batches(
    batches: Iterator[pa.RecordBatch], *, pair: tuple[str, str], options: list[str]
) -> Iterator[pa.RecordBatch]:
    """Filter a partition batch by batch."""
    import pyarrow as pa

    for batch in batches:
        if not batch.num_rows:
            continue
        made, dropped = _filtered(list(zip(*(lines_of(batch.column(column)) for column in pair))), options)
        kept = batch.take(pa.array([i for i in range(batch.num_rows) if i not in dropped], pa.int64()))
        for column, key in zip(pair, ("source", "target")):
            place = kept.schema.get_field_index(column)
            values = pa.array([each[key] for each in made], pa.string()).cast(kept.schema.types[place])
            kept = kept.set_column(place, column, values)
        yield kept


def _filtered(
    pairs: list[tuple[str | None, ...]], options: list[str]
) -> tuple[list[dict[str, Any]], set[int]]:
    """Return the pairs that the program keeps, and the numbers of those that it drops.

    It gets the pairs as JSON lines and reports the lines that it rejects.
    """
    with tempfile.TemporaryDirectory(prefix="dragoman-") as name, tempfile.TemporaryFile() as messages:
        given, made, rejected = (Path(name) / f"{part}.jsonl" for part in ("given", "made", "rejected"))
        rows = [json.dumps({"source": a or "", "target": b or ""}) for a, b in pairs]
        given.write_text("\n".join(rows) + "\n", encoding="utf-8")
        command = [program(), "prepare", "--jsonl", str(given), "--output", str(made), "--rejected", str(rejected)]
        command += ["--duplicates", "none", "--threads", "1", "--quiet", *options]
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=messages)
        require_success(ended.returncode, "prepare", messages)
        return _read(made), {each["line"] - 1 for each in _read(rejected)}


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().split(b"\n") if line]
