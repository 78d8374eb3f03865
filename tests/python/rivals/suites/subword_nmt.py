"""subword-nmt: its repository."""

import shutil
import sys
from pathlib import Path

TESTS = ["."]


def prepare(checkout: Path, folder: Path) -> Path:
    tests = folder / "subword_nmt" / "tests"
    shutil.copytree(checkout / "subword_nmt" / "tests", tests)
    return tests


def before_collection() -> None:
    # The tests import the modules by their bare names, and `mock`, which has been part of Python since 3.3.
    import unittest.mock

    for name in ("apply_bpe", "learn_bpe"):
        sys.modules[name] = sys.modules[f"subword_nmt.{name}"]
    sys.modules.setdefault("mock", unittest.mock)
