"""Models and tokenizers on executors: found there, and opened once in a process."""

from __future__ import annotations

import functools
import os
import re
import socket
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .._model import Model
from .._tokenizer import PathLike, Tokenizer
from ..errors import MissingFileError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Place(NamedTuple):
    """How a task finds a file or folder."""

    #: The name within the files that Spark shipped.
    name: str
    #: The path on the driver, in case all machines see it.
    path: str

    @classmethod
    def of(cls, path: PathLike) -> Place:
        """Return the place of what the user named on the driver."""
        return cls(os.fspath(path), os.path.abspath(path))

    def find(self) -> Path:
        """Return the path on this machine."""
        from pyspark import SparkFiles

        root = Path(SparkFiles.getRootDirectory())
        shipped = root / os.path.normpath(self.name)
        # Names such as "." and "../models/de-en" mean folders of the driver.
        named = root in shipped.parents and ".." not in shipped.parts
        for candidate in (shipped, Path(self.path)) if named else (Path(self.path),):
            if candidate.exists():
                return candidate
        raise MissingFileError(
            f"{socket.gethostname()} has neither {shipped}, where Spark puts archives, nor {self.path}. Ship the model "
            "with dragoman.spark.add_model(session, folder), or name a path that every executor sees"
        )


def add_model(session: SparkSession, folder: PathLike, name: str | None = None) -> str:
    """Ship a model folder to all executors, and return the name that `translate` and `score` know it by.

    The driver packs the folder and each executor unpacks it once. `SparkContext.addArchive`, or `--archives` of
    spark-submit, does the same for an archive that exists already: `addArchive("de-en.tar.gz#de-en")` makes the name
    "de-en", and a folder `model` inside it is "de-en/model". A path that all machines see needs neither.

    Parameters
    ----------
    session
        The session of the job.
    folder
        The model folder.
    name
        The name. By default that of the folder.
    """
    from ._session import require_spark

    require_spark()
    from pyspark import SparkFiles

    model = Path(folder).resolve()
    if not model.is_dir():
        raise MissingFileError(f"{model} is no folder; add_model() needs a model folder")
    name = name or model.name
    if not re.fullmatch(r"[\w.-]+", name, re.ASCII) or name.startswith("."):
        raise ValueError(
            f"the name {name!r} must consist of letters, digits, '_', '-' and '.', and not begin with '.'; pass another name"
        )
    # Executors fetch it at any time of the job, so it stays in the folder that Spark deletes in the end.
    packed = os.path.join(tempfile.mkdtemp(dir=SparkFiles.getRootDirectory()), f"{name}.tar")
    # Spark refuses an entry for the folder itself, and links out of it.
    with tarfile.open(packed, "w", dereference=True) as archive:
        for entry in sorted(model.iterdir()):
            archive.add(entry, entry.name)
    session.sparkContext.addArchive(f"{packed}#{name}")
    return name


def open_model(place: Place, threads: int, device: str, compute: str) -> Model:
    """Return the model of this process; it is opened again after its files have changed."""
    path = place.find()
    return _open_model(path, _state(path), threads, device, compute)


def open_tokenizer(place: Place) -> Tokenizer:
    """Return the tokenizer of this process; it is opened again after its file has changed."""
    path = place.find()
    return _open_tokenizer(path, _state(path))


def _state(path: Path) -> tuple[tuple[str, int, int, int], ...]:
    """Return what changes with the content of a file or folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    status = [(str(file), file.stat()) for file in files if file.is_file()]
    return tuple((file, each.st_ino, each.st_size, each.st_mtime_ns) for file, each in status)


# A Python worker of Spark runs task after task. It keeps the last model, and another one for chains of two.
@functools.lru_cache(maxsize=2)
def _open_model(path: Path, state: object, threads: int, device: str, compute: str) -> Model:
    return Model(path, threads=threads, device=device, compute=compute)


@functools.lru_cache(maxsize=2)
def _open_tokenizer(path: Path, state: object) -> Tokenizer:
    return Tokenizer(path)
