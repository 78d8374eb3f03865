"""The notebooks run, and give the outputs that they are stored with.

`tests/python/run_notebook.py NOTEBOOK --write` renews the outputs. Cells with the tag "varies" print what depends on
training or on versions of other packages: of these only the kinds of outputs are compared.
"""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import TREE

FOLDER = TREE / "examples/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
RUNNER = TREE / "tests/python/run_notebook.py"
NUMBER = re.compile(r"-?\d+\.\d+")
every_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def cells(notebook):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def source(cell):
    return "".join(cell["source"])


def packages(notebook):
    """Returns the packages that a notebook cannot do without: an import in a `try` is optional."""
    found = []
    for cell in cells(notebook):
        for statement in ast.parse(source(cell)).body:
            if isinstance(statement, ast.Import):
                found += [each.name for each in statement.names]
            elif isinstance(statement, ast.ImportFrom):
                found.append(statement.module)
    names = dict.fromkeys(name.split(".")[0] for name in found)
    return [name for name in names if name not in sys.stdlib_module_names]


def run(notebook, *options):
    command = [sys.executable, RUNNER, notebook, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def kinds(output):
    return [output["output_type"], *sorted(output.get("data", {}))]


def text(output):
    """Returns the text of an output as one line."""
    found = output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]
    return " ".join("".join(found).split())


def is_same_text(left, right):
    """Whether texts are equal; decimal fractions may differ as they do between processors."""
    if NUMBER.split(left) != NUMBER.split(right):
        return False
    pairs = zip(NUMBER.findall(left), NUMBER.findall(right))
    return all(float(a) == pytest.approx(float(b), rel=0.01, abs=0.02) for a, b in pairs)


def difference(cell, made):
    """Returns how outputs differ from the stored ones, or None."""
    stored, tags = cell["outputs"], cell["metadata"].get("tags", [])
    if "matplotlib" in tags and [kinds(each) for each in made] == [["execute_result", "text/html", "text/plain"]]:
        return None  # the table that replaces the picture
    if [kinds(each) for each in stored] != [kinds(each) for each in made]:
        return f"{cell['id']}: outputs of the kinds {[kinds(each) for each in made]}"
    for old, new in zip(stored, made):
        if "varies" not in tags and not is_same_text(text(old), text(new)):
            return f"{cell['id']}: {text(new)!r} instead of {text(old)!r}"
    return None


@every_notebook
def test_outputs_are_the_stored_ones(notebook):
    missing = [name for name in packages(notebook) if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{notebook.name} needs {', '.join(missing)}")
    made = run(notebook)
    found = [difference(cell, made[cell["id"]]) for cell in cells(notebook)]
    assert not [each for each in found if each]


def test_attention_is_a_table_without_matplotlib():
    notebook = FOLDER / "attention.ipynb"
    made = run(notebook, "--without", "matplotlib")
    drawn = [cell["id"] for cell in cells(notebook) if "matplotlib" in cell["metadata"].get("tags", [])]
    (output,) = made[drawn[0]]
    table = "".join(output["data"]["text/html"])
    assert table.count("<tr>") == 10 and table.count("<td") == 9 * 8


@every_notebook
def test_files_are_tidy(notebook):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert notebook.read_text(encoding="utf-8") == json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    numbers = range(1, len(content["cells"]) + 1)
    assert [cell["id"] for cell in content["cells"]] == [f"{notebook.stem}-{number:02}" for number in numbers]
    assert [cell["execution_count"] for cell in cells(notebook)] == [*range(1, len(cells(notebook)) + 1)]
    for cell in cells(notebook):
        assert not re.search(r"dragoman\._|\._core", source(cell)), "notebooks use the public interface only"


def test_pictures_are_small():
    outputs = [output for notebook in NOTEBOOKS for cell in cells(notebook) for output in cell["outputs"]]
    assert sum(len(each.get("data", {}).get("image/png", "")) for each in outputs) < 30_000


def notebook_of(path, *sources):
    made = [
        {"cell_type": "code", "id": f"made-{i}", "metadata": {}, "source": [each], "outputs": [], "execution_count": None}
        for i, each in enumerate(sources)
    ]
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_the_runner_does_as_jupyter(tmp_path):
    waiting = "import asyncio\nasync def five():\n    return 5\nawait five()"
    notebook = notebook_of(tmp_path / "made.ipynb", "a = 1\nprint(a)\na + 1", "a = 2", waiting, "five().close()")
    made = run(notebook)
    assert [text(each) for each in made["made-0"]] == ["1", "2"]
    assert made["made-1"] == made["made-3"] == [] and text(made["made-2"][0]) == "5"
    run_and_stored = subprocess.run([sys.executable, RUNNER, notebook, "--write"], check=True, timeout=60)
    assert run_and_stored.returncode == 0
    assert [difference(cell, made[cell["id"]]) for cell in cells(notebook)] == [None] * 4


def test_faults_are_found(tmp_path):
    notebook = notebook_of(tmp_path / "made.ipynb", "print('before')\nmissing")
    with pytest.raises(AssertionError, match=r"cell made-0 failed after it printed:\s+before\s[\s\S]*NameError"):
        run(notebook)
    stream = lambda printed: {"output_type": "stream", "name": "stdout", "text": [printed]}
    cell = {"id": "a", "metadata": {}, "outputs": [stream("BLEU = 60.21\n")]}
    assert difference(cell, [stream("BLEU  = 60.20")]) is None
    for other in ("BLEU = 55.00", "BLEU = 60", "chrF = 60.21"):
        assert difference(cell, [stream(other)]) == f"a: {other!r} instead of 'BLEU = 60.21'"
    assert "kinds" in difference(cell, [])
    assert difference({**cell, "metadata": {"tags": ["varies"]}}, [stream("TER")]) is None
    imports = ("import json\nimport numpy", "try:\n    import other\nexcept ImportError:\n    pass", "from a.b import c")
    assert packages(notebook_of(tmp_path / "imports.ipynb", *imports)) == ["numpy", "a"]


def test_the_corpus_has_two_columns():
    lines = (FOLDER / "captions.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "german\tenglish" and {line.count("\t") for line in lines} == {1}
    assert len(lines) == len(set(lines)) == 241


def test_the_readme_lists_every_notebook():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\((\S+\.ipynb)\)", readme)) == {path.name for path in NOTEBOOKS}
    assert all(isinstance(path, Path) for path in NOTEBOOKS) and len(NOTEBOOKS) == 5
