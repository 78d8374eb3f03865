"""Text files: read as the program reads them, and written without a lost or doubled line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ._session import require_columns, require_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_lines(session: SparkSession, *paths: str | os.PathLike[str], column: str = "text") -> DataFrame:
    """Return the lines of text files as a DataFrame, in order.

    Lines end at line feeds only, while other readers of Spark also cut at each CR. All other bytes are kept, also those
    that are not UTF-8. A CR at the end of a line is for the functions to treat, which do so as the program does.

    Parameters
    ----------
    session
        The session of Spark.
    *paths
        Files, folders or patterns on any file system of Spark. The files of a folder or of a pattern are read in the
        order of their names. Files that end in .gz are decompressed.
    column
        The name of the column.
    """
    require_spark()
    if not paths:
        raise ValueError("read_lines() needs at least one path")

    def read(path: str | os.PathLike[str]) -> DataFrame:
        return session.read.text(os.fspath(path), lineSep="\n")

    frames = [read(file) for path in paths for file in sorted(read(path).inputFiles())]
    if not frames:
        raise ValueError(f"{os.fspath(paths[0])} contains no files")
    # The partitions of a union are those of its parts one after the other, so partitions are in the order of the lines.
    lines = frames[0]
    for frame in frames[1:]:
        lines = lines.union(frame)
    return lines.withColumnRenamed("value", column)


def write_lines(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    column: str = "text",
    single_file: bool = False,
    overwrite: bool = False,
) -> None:
    """Write a column as text, one line per row.

    Partitions are written in parallel. Spark commits each of them once, even if it ran twice.

    Parameters
    ----------
    frame
        The DataFrame. Rows that come from `read_lines` and were not shuffled since are in the order of the lines.
    path
        A folder for one file per partition, whose names have the order of the partitions; or the file. It is on the
        file system of Spark, which all machines must see.
    column
        The column of text. A missing value is an empty line.
    single_file
        Whether the partitions are joined, in order, into one file. It appears when it is complete.
    overwrite
        Whether an existing output is replaced. Otherwise it is an error.
    """
    require_spark()
    require_columns(frame, column)
    target = os.fspath(path)
    if not single_file:
        frame.select(column).write.mode("overwrite" if overwrite else "error").text(target, lineSep="\n")
        return
    files = _HadoopFiles(frame.sparkSession, target)
    try:
        if files.exists(target) and not overwrite:
            raise FileExistsError(f"{target} exists; pass overwrite=True to replace it")
        frame.select(column).write.mode("overwrite").text(target + ".parts", lineSep="\n")
        files.join(target + ".parts", target)
    finally:
        files.close()


class _HadoopFiles:
    """The file system of a path, on the driver."""

    def __init__(self, session: SparkSession, path: str) -> None:
        java: Any = session.sparkContext._jvm
        self._hadoop = java.org.apache.hadoop
        self._configuration = session.sparkContext._jsc.hadoopConfiguration()
        # An instance of its own, since it does not write the hidden files of checksums beside the output.
        self._files = self._hadoop.fs.FileSystem.newInstance(self._path(path).toUri(), self._configuration)
        self._files.setWriteChecksum(False)

    def _path(self, path: str) -> Any:
        return self._hadoop.fs.Path(path)

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def join(self, folder: str, target: str) -> None:
        """Join the files of the partitions, and delete the folder."""
        parts = [each.getPath() for each in self._files.listStatus(self._path(folder))]
        parts = [part for part in parts if part.getName().startswith("part-")]
        # A partition's number has five digits or more.
        parts.sort(key=lambda part: (int(part.getName().split("-")[1]), part.getName()))
        output = self._files.create(self._path(target + ".partial"), True)
        try:
            for part in parts:
                read = self._files.open(part)
                try:
                    self._hadoop.io.IOUtils.copyBytes(read, output, self._configuration, False)
                finally:
                    read.close()
        finally:
            output.close()
        if self.exists(target):
            self._files.delete(self._path(target), True)
        if not self._files.rename(self._path(target + ".partial"), self._path(target)):
            raise OSError(f"{target}.partial could not be renamed to {target}; it is complete")
        self._files.delete(self._path(folder), True)

    def close(self) -> None:
        self._files.close()
