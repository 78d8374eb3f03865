"""Files and folders, and what concerns test sets."""

from __future__ import annotations

import gzip
import os
from typing import IO, Any, cast

from .dataset import no_test_sets

#: The folder in which sacreBLEU stores downloads. The models of the tokenizers flores101 and flores200 are read from
#: its folder `models`.
SACREBLEU_DIR = os.environ.get("SACREBLEU", os.path.join(os.path.expanduser("~"), ".sacrebleu"))


def smart_open(file: str, mode: str = "rt", encoding: str = "utf-8") -> IO[Any]:
    """Open a file, compressed if its name ends with .gz. Lines end at line feeds only."""
    if file.endswith(".gz"):
        return cast(IO[Any], gzip.open(file, mode=mode, encoding=encoding, newline="\n"))
    return open(file, mode=mode, encoding=encoding, newline="\n")


def download_test_set(test_set: str, langpair: str | None = None) -> list[str]:
    """Raise NotImplementedError."""
    no_test_sets()


def get_source_file(test_set: str, langpair: str) -> str:
    """Raise NotImplementedError."""
    no_test_sets()


def get_reference_files(test_set: str, langpair: str) -> list[str]:
    """Raise NotImplementedError."""
    no_test_sets()


def get_files(test_set: str, langpair: str) -> list[str]:
    """Raise NotImplementedError."""
    no_test_sets()


def get_langpairs_for_testset(testset: str) -> list[str]:
    """Raise NotImplementedError."""
    no_test_sets()


def get_available_testsets() -> list[str]:
    """Raise NotImplementedError."""
    no_test_sets()


def get_available_testsets_for_langpair(langpair: str) -> list[str]:
    """Raise NotImplementedError."""
    no_test_sets()
