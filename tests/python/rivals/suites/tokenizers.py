"""Hugging Face tokenizers: its repository."""

import shutil
from pathlib import Path

TESTS = ["tests"]


def prepare(checkout: Path, folder: Path) -> Path:
    # The tests demand that the folder they run in is called python.
    python = checkout / "bindings" / "python"
    made = folder / "python"
    shutil.copytree(python / "tests", made / "tests")
    for name in ("conftest.py", "pytest.ini"):
        shutil.copy(python / name, made)
    return made
