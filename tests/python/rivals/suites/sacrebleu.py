"""sacreBLEU: its repository."""

import shutil
from pathlib import Path

TESTS = ["test"]


def prepare(checkout: Path, folder: Path) -> Path:
    shutil.copytree(checkout / "test", folder / "test")
    shutil.copy(checkout / "pytest.ini", folder)
    return folder
