"""Hugging Face tokenizers: its repository."""

import importlib.util
import shutil
import sys
import types
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


def before_collection() -> None:
    # Most test files import these packages, even those of which no test downloads a file.
    for name in ("huggingface_hub", "tqdm", "datasets"):
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = types.ModuleType(name)
    hub = sys.modules.get("huggingface_hub")
    if hub is not None and not hasattr(hub, "hf_hub_download"):
        hub.hf_hub_download = refuse  # type: ignore[attr-defined]


def refuse(*_: object, **__: object) -> None:
    raise OSError("these tests download nothing")
