#!/usr/bin/env python3
"""Runs the code cells of a notebook as Jupyter does, without Jupyter.

  run_notebook.py NOTEBOOK             prints the outputs of each code cell as JSON
  run_notebook.py NOTEBOOK --write     stores the outputs in the notebook instead

The cells run in order, in one namespace and in a temporary folder. `DRAGOMAN_TREE` tells them where the tree is.
--without PACKAGE runs them as if the package were not installed.
"""

import argparse
import ast
import asyncio
import base64
import contextlib
import inspect
import io
import json
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
WIDTH = 79


def read(notebook):
    return json.loads(Path(notebook).read_text(encoding="utf-8"))


def written(content):
    """Returns the notebook in the form in which Jupyter saves it."""
    return json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def plain(value):
    """Returns the text that represents a value: that of Jupyter for short values and for lists."""
    shown = repr(value)
    if type(value) is list and len(shown) > WIDTH:
        return "[" + ",\n ".join(map(repr, value)) + "]"
    return shown


def lines(text):
    return text.splitlines(keepends=True)


def result_of(value, number):
    data = {"text/plain": lines(plain(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    return {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}


def figures():
    """Returns the figures that the cell has drawn, and closes them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    found = []
    for number in pyplot.get_fignums() if pyplot else ():
        figure, picture = pyplot.figure(number), io.BytesIO()
        figure.savefig(picture, format="png", dpi=72, bbox_inches="tight", metadata={"Software": None})
        data = {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": [repr(figure)]}
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
        pyplot.close(figure)
    return found


def run_cell(source, name, namespace, loop):
    """Returns the value of the expression that the cell ends with, or None. Cells may use `await`."""
    module = ast.parse(source, name)
    last = module.body.pop() if module.body and isinstance(module.body[-1], ast.Expr) else None
    value = None
    for part in (module, ast.Expression(last.value) if last else None):
        if part is None:
            continue
        code = compile(part, name, "eval" if part is not module else "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        value = eval(code, namespace)
        if code.co_flags & inspect.CO_COROUTINE:
            value = loop.run_until_complete(value)
    return value if last else None


def run(notebook):
    """Yields (cell, outputs) for each code cell; a cell that fails ends the program."""
    namespace, loop, number = {"__name__": "__main__"}, asyncio.new_event_loop(), 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        number += 1
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                value = run_cell("".join(cell["source"]), f"<cell {cell['id']}>", namespace, loop)
        except BaseException:
            print(f"cell {cell['id']} failed after it printed:\n{printed.getvalue()}", file=sys.stderr)
            traceback.print_exc()
            sys.exit(1)
        outputs = []
        if printed.getvalue():
            outputs.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
        outputs += figures()
        if value is not None:
            outputs.append(result_of(value, number))
        yield cell, outputs
    loop.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--write", action="store_true", help="store the outputs in the notebook")
    parser.add_argument("--without", metavar="PACKAGE", action="append", default=[], help="hide a package")
    words = parser.parse_args()
    notebook, file = read(words.notebook), words.notebook.resolve()
    sys.modules.update(dict.fromkeys(words.without))  # None: import raises ModuleNotFoundError
    os.environ.setdefault("DRAGOMAN_TREE", str(TREE))
    os.environ.update(MPLBACKEND="Agg", COLUMNS="200")
    warnings.filterwarnings("ignore", message=".*non-interactive")  # plt.show() without a window
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        os.chdir(folder)
        made = {}
        for number, (cell, outputs) in enumerate(run(notebook), 1):
            made[cell["id"]] = outputs
            cell.update(execution_count=number, outputs=outputs)
        os.chdir(before)
    if words.write:
        file.write_text(written(notebook), encoding="utf-8")
    else:
        json.dump(made, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
