"""What the tests of the package share."""

import os
import subprocess
from pathlib import Path

import pytest

import dragoman

TREE = Path(__file__).resolve().parents[2]
MODEL = TREE / "examples/multi30k/model"


@pytest.fixture(autouse=True)
def in_the_tree(monkeypatch):
    """Examples name files of the tree."""
    monkeypatch.chdir(TREE)


@pytest.fixture(scope="session")
def model():
    return dragoman.Model(MODEL, threads=2)


@pytest.fixture(scope="session")
def translator(model):
    return dragoman.Translator(model)


@pytest.fixture(scope="session")
def tokenizer():
    return dragoman.Tokenizer(MODEL / "tokenizer.json")


@pytest.fixture(scope="session")
def program():
    """The program of the same package, which is what results are compared with."""
    path = Path(dragoman.__file__).parent / "_native/bin/dragoman"

    def run(*words, text=None):
        done = subprocess.run([path, *map(str, words)], input=text, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def multi30k():
    """The folder of Multi30k's files."""
    folder = Path(os.environ.get("DRAGOMAN_DATA", TREE.parent / "shared/data"))
    for found in (folder / "multi30k", folder):
        if list(found.glob("*.de*")):
            return found
    pytest.skip(f"{folder} has no Multi30k; scripts/get-multi30k fetches it")


@pytest.fixture(scope="session")
def german(multi30k):
    """Some hundred German lines."""
    import gzip

    file = sorted(multi30k.glob("*val*.de*"))[0]
    opened = gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else open(file, encoding="utf-8")
    with opened:
        return [line.rstrip("\n") for line in opened]
