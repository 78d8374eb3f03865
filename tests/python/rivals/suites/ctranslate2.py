"""CTranslate2: its repository."""

import shutil
from pathlib import Path

TESTS = ["."]


def prepare(checkout: Path, folder: Path) -> Path:
    shutil.copytree(checkout / "python" / "tests", folder / "python" / "tests")
    shutil.copytree(checkout / "tests" / "data", folder / "tests" / "data")
    # The tests are skipped without this folder, which their makers download. The converted model of the same task is
    # in the repository, and the tests of the translator read that one.
    models = folder / "tests" / "data" / "models"
    shutil.copytree(models / "v2" / "aren-transliteration", models / "transliteration-aren-all")
    return folder / "python" / "tests"
