"""SentencePiece: its sdist, or its repository."""

import shutil
from pathlib import Path

TESTS = ["test"]
OPTIONS = ["-o", "python_files=*_test.py"]


def prepare(checkout: Path, folder: Path) -> Path:
    python = checkout if (checkout / "test").is_dir() else checkout / "python"
    shutil.copytree(python / "test", folder / "test")
    # In a repository the models are in another folder than the tests.
    for pattern in ("botchan*", "*.model"):
        for file in (checkout / "data").glob(pattern):
            shutil.copy(file, folder / "test")
    return folder
