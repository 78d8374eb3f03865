"""The Python on the pages of the documentation runs."""

import re
from pathlib import Path

import pytest

from conftest import TREE

#: A block of Python, and the comment before it that says why it is not run.
BLOCK = re.compile(r"(<!-- not executed: [^>]+-->\n\n)?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_to_run(page):
    return [block for reason, block in BLOCK.findall(page.read_text(encoding="utf-8")) if not reason]


PAGES = [page for page in sorted((TREE / "docs").rglob("*.md")) if any("import dragoman\n" in block for block in blocks_to_run(page))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TREE)))
def test_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(TREE / "examples")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks_to_run(page):
        exec(compile(block, f"{page.name}", "exec"), names)  # noqa: S102
        check_results(block, names)


def check_results(block, names):
    """A comment after an expression is its value."""
    lines = block.splitlines()
    for expression, comment in zip(lines, lines[1:]):
        if comment.startswith("# ") and not expression.startswith((" ", "#", "for ", "print(")):
            try:
                expected = eval(comment[2:], {})  # noqa: S307
            except SyntaxError:
                continue
            assert eval(expression, names) == expected, expression  # noqa: S307
