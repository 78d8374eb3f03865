"""YouTokenToMe: its repository."""

import shutil
from pathlib import Path

TESTS = ["."]
COMMANDS = {"yttm": "dragoman.compat.youtokentome"}


def prepare(checkout: Path, folder: Path) -> Path:
    tests = folder / "tests" / "unit_tests"
    shutil.copytree(checkout / "tests" / "unit_tests", tests)
    return tests
