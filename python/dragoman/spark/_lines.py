"""Text files: read as the program reads them, and written without a lost or doubled line."""

from __future__ import annotations

import os
import re
import uuid
from typing import TYPE_CHECKING, Any, Callable

from ._session import column_named, require_spark, require_texts

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
        order of their names. Files that end in .gz are decompressed. Spark ignores files whose names begin with _ or a
        dot.
    column
        The name of the column.
    """
    require_spark()
    if not paths:
        raise ValueError("read_lines() needs at least one path")

    def read(path: str | os.PathLike[str]) -> DataFrame:
        return session.read.text(os.fspath(path), lineSep="\n")

    frames = [read(_literal(file)) for path in paths for file in sorted(map(_decoded(session), read(path).inputFiles()))]
    if not frames:
        raise ValueError(f"{os.fspath(paths[0])} contains no files that Spark reads: it ignores names that begin with _ or .")
    # The partitions of a union are those of its parts one after the other, so partitions are in the order of the lines.
    # Pairs are joined, since a chain of unions takes time in the square of its length, and a stack of this depth.
    while len(frames) > 1:
        pairs = [first.union(second) for first, second in zip(frames[::2], frames[1::2])]
        frames = pairs + frames[2 * len(pairs) :]
    return frames[0].withColumnRenamed("value", column)


def _decoded(session: SparkSession) -> Callable[[str], str]:
    """Return the function from the address of a file, in which spaces and others are encoded, to its path."""
    java: Any = session.sparkContext._jvm

    def path(address: str) -> str:
        return str(java.org.apache.hadoop.fs.Path(java.java.net.URI(address)).toString())

    return path


def _literal(path: str) -> str:
    """Return the pattern that matches this path alone."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def write_lines(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    column: str = "text",
    single_file: bool = False,
    overwrite: bool = False,
) -> None:
    """Write a column as text, one line per row.

    Partitions are written in parallel. Spark commits each of them once, even if it ran twice. A line feed within a text
    is written as a space, as the program does.

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
        Whether the partitions are joined, in order, into one file. It appears when it is complete. If its name ends in
        .gz, it is compressed.
    overwrite
        Whether an existing output is replaced. Otherwise it is an error. The files that the frame itself reads cannot be
        replaced by a folder.
    """
    require_spark()
    require_texts(frame, column)
    from pyspark.sql import functions as F

    target = os.fspath(path)
    text = F.replace(column_named(column).cast("string"), F.lit("\n"), F.lit(" "))
    lines = frame.select(text.alias("text")).write
    files = _HadoopFiles(frame.sparkSession, target)
    try:
        if not single_file:
            if overwrite and files.contains_any(target, frame.inputFiles()):
                raise ValueError(f"the DataFrame reads files of {target}; write to another folder")
            lines.mode("overwrite" if overwrite else "error").text(target, lineSep="\n")
            return
        if files.is_folder(target):
            raise IsADirectoryError(f"{target} is a folder; single_file=True writes a file")
        require_plain_file(target)
        if files.exists(target) and not overwrite:
            raise FileExistsError(f"{target} exists; pass overwrite=True to replace it")
        compression = "gzip" if target.endswith(".gz") else "none"
        # A name that nobody else uses: the frame may read any other folder, also one of an earlier job.
        parts = f"{target}.{uuid.uuid4().hex}.parts"
        try:
            lines.mode("error").text(parts, lineSep="\n", compression=compression)
            files.join(parts, target)
        finally:
            files.delete(parts)
    finally:
        files.close()


def require_plain_file(path: str) -> None:
    """Raise an error about a link or a device of this machine, which a complete file would replace."""
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        raise ValueError(f"{path} is a link or a device, which would be replaced; name a file")


class _HadoopFiles:
    """The file system of a path, on the driver."""

    def __init__(self, session: SparkSession, path: str) -> None:
        java: Any = session.sparkContext._jvm
        self._session = session
        self._hadoop = java.org.apache.hadoop
        self._configuration = session.sparkContext._jsc.hadoopConfiguration()
        # An instance of its own, since it does not write the hidden files of checksums beside the output.
        self._files = self._hadoop.fs.FileSystem.newInstance(self._path(path).toUri(), self._configuration)
        self._files.setWriteChecksum(False)

    def _path(self, path: str) -> Any:
        return self._hadoop.fs.Path(path)

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def is_folder(self, path: str) -> bool:
        return self.exists(path) and bool(self._files.getFileStatus(self._path(path)).isDirectory())

    def contains_any(self, folder: str, addresses: list[str]) -> bool:
        """Return whether one of these files, of `DataFrame.inputFiles`, is in the folder."""
        inside = str(self._files.makeQualified(self._path(folder)).toString()) + "/"
        return any(path.startswith(inside) for path in map(_decoded(self._session), addresses))

    def delete(self, folder: str) -> None:
        """Delete the folder, if it exists."""
        self._files.delete(self._path(folder), True)

    def join(self, folder: str, target: str) -> None:
        """Join the files of the partitions."""
        parts = [each.getPath() for each in self._files.listStatus(self._path(folder))]
        parts = [part for part in parts if part.getName().startswith("part-")]
        # A partition's number has five digits or more.
        parts.sort(key=lambda part: (int(part.getName().split("-")[1]), part.getName()))
        joined = f"{folder}/joined"
        output = self._files.create(self._path(joined), True)
        try:
            for part in parts:
                read = self._files.open(part)
                try:
                    self._hadoop.io.IOUtils.copyBytes(read, output, self._configuration, False)
                finally:
                    read.close()
        finally:
            output.close()
        # Another writer may create the target between the two steps.
        for _ in range(3):
            if self.exists(target):
                self._files.delete(self._path(target), True)
            if self._files.rename(self._path(joined), self._path(target)):
                return
        raise OSError(f"{joined} could not be renamed to {target}")

    def close(self) -> None:
        self._files.close()
