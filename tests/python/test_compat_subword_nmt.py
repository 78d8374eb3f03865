"""dragoman.compat.subword_nmt against what subword-nmt 0.3.8 wrote.

GOLDEN was printed by this module with the package in place of the drop-in: `python test_compat_subword_nmt.py`.
"""

from __future__ import annotations

import argparse
import io
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if __name__ != "__main__":
    from dragoman.compat import subword_nmt  # noqa: F401
    from dragoman.compat.subword_nmt import apply_bpe
    from dragoman.compat.subword_nmt.apply_bpe import BPE, read_vocabulary
    from dragoman.compat.subword_nmt.get_vocab import get_vocab
    from dragoman.compat.subword_nmt.learn_bpe import learn_bpe
    from dragoman.compat.subword_nmt.learn_joint_bpe_and_vocab import learn_joint_bpe_and_vocab
else:
    from subword_nmt.apply_bpe import BPE, read_vocabulary
    from subword_nmt.get_vocab import get_vocab
    from subword_nmt.learn_bpe import learn_bpe
    from subword_nmt.learn_joint_bpe_and_vocab import learn_joint_bpe_and_vocab

TEXT = "low low low lower newest newest\nwidest aaaa aaa lower\u00a0low\n"
LINES = ["  low lowest  slow\u00fc \n", "\n", " \n", "new\u00a0low aaaaa", "<ph>low 12low", "a@@ widest\r\n"]


def learned(**options: Any) -> str:
    codes = io.StringIO()
    learn_bpe(io.StringIO(TEXT), codes, 12, **options)
    return codes.getvalue()


def segmented(codes: str, **options: Any) -> list[str]:
    bpe = BPE(io.StringIO(codes), **options)
    return [bpe.process_line(line) for line in LINES]


def golden() -> list[Any]:
    codes = learned()
    pieces = BPE(io.StringIO(codes)).process_line("low lower newest low widest low").split()
    counts = io.StringIO()
    get_vocab([" ".join(pieces)], counts)
    vocabulary = read_vocabulary(io.StringIO(counts.getvalue()), 2)
    return [
        codes,
        learned(min_frequency=1, total_symbols=False),
        segmented(codes),
        segmented(codes, separator="\uffed", merges=4),
        segmented(codes, vocab=vocabulary),
        segmented(codes, glossaries=["<ph>", r"\d+"]),
        segmented("l o\nlo w\nlow </w>\n"),
        counts.getvalue(),
    ]


GOLDEN: list[Any] = [
    "#version: 0.2\nl o\nw e\nlo w</w>\ns t</w>\na a\nwe st</w>\nn e\nne west</w>\nlo we\n",
    "#version: 0.2\nl o\nw e\nlo w</w>\ns t</w>\na a\nwe st</w>\nn e\nne west</w>\nlo we\n\xa0 low</w>\nw i\nwi d\n",
    [
        "  low lo@@ west s@@ lo@@ w@@ \xfc \n",
        "\n",
        " \n",
        "ne@@ w@@ \xa0@@ low aa@@ aa@@ a",
        "<@@ p@@ h@@ >@@ low 1@@ 2@@ low",
        "a@@ @@@ @ w@@ i@@ d@@ e@@ st\r\n",
    ],
    [
        "  low lo\uffed we\uffed st s\uffed lo\uffed w\uffed \xfc \n",
        "\n",
        " \n",
        "n\uffed e\uffed w\uffed \xa0\uffed low a\uffed a\uffed a\uffed a\uffed a",
        "<\uffed p\uffed h\uffed >\uffed low 1\uffed 2\uffed low",
        "a\uffed @\uffed @ w\uffed i\uffed d\uffed e\uffed st\r\n",
    ],
    [
        "  low l@@ o@@ w@@ e@@ s@@ t s@@ l@@ o@@ w@@ \xfc \n",
        "\n",
        " \n",
        "n@@ e@@ w@@ \xa0@@ low a@@ a@@ a@@ a@@ a",
        "<@@ p@@ h@@ >@@ low 1@@ 2@@ low",
        "a@@ @@@ @ w@@ i@@ d@@ e@@ s@@ t\r\n",
    ],
    [
        "  low lo@@ west s@@ lo@@ w@@ \xfc \n",
        "\n",
        " \n",
        "ne@@ w@@ \xa0@@ low aa@@ aa@@ a",
        "<ph>@@ low 12@@ low",
        "a@@ @@@ @ w@@ i@@ d@@ e@@ st\r\n",
    ],
    [
        "  low low@@ e@@ s@@ t s@@ low@@ \xfc \n",
        "\n",
        " \n",
        "n@@ e@@ w@@ \xa0@@ low a@@ a@@ a@@ a@@ a",
        "<@@ p@@ h@@ >@@ low 1@@ 2@@ low",
        "a@@ @@@ @ w@@ i@@ d@@ e@@ s@@ t\r\n",
    ],
    "low 3\nlowe@@ 1\nr 1\nnewest 1\nw@@ 1\ni@@ 1\nd@@ 1\ne@@ 1\nst 1\n",
]


def test_codes_and_lines_are_those_of_subword_nmt() -> None:
    for made, expected in zip(golden(), GOLDEN, strict=True):
        assert made == expected


def test_no_merges_leave_characters() -> None:
    assert BPE(io.StringIO("#version: 0.2\n"), merges=0).process_line("ab c\n") == "a@@ b c\n"


def test_dropout_follows_the_seed_of_python() -> None:
    bpe = BPE(io.StringIO(learned(min_frequency=1)))
    assert bpe.process_line("newest widest lower", dropout=1) == " ".join(
        "n@@ e@@ w@@ e@@ s@@ t w@@ i@@ d@@ e@@ s@@ t l@@ o@@ w@@ e@@ r".split()
    )
    random.seed(5)
    first = [bpe.process_line("newest widest lower", dropout=0.5) for _ in range(20)]
    random.seed(5)
    assert first == [bpe.process_line("newest widest lower", dropout=0.5) for _ in range(20)]
    assert len(set(first)) > 3
    assert all(line.replace("@@ ", "") == "newest widest lower" for line in first)


def test_joint_codes_and_vocabularies(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("low low lower\n", encoding="utf-8")
    second.write_text("low newest newest\n", encoding="utf-8")
    names = ["codes", "vocab.first", "vocab.second"]
    outputs = [open(tmp_path / name, "wb") for name in names]
    inputs = [open(each, "rb") for each in (first, second)]
    learn_joint_bpe_and_vocab(
        argparse.Namespace(
            input=inputs,
            output=outputs[0],
            vocab=outputs[1:],
            symbols=5,
            min_frequency=2,
            separator="@@",
            num_workers=1,
        )
    )
    for each in inputs + outputs:
        each.close()
    # subword-nmt 0.3.8: learn-joint-bpe-and-vocab -i first second -s 5 -o codes --write-vocabulary ...
    assert [(tmp_path / name).read_text(encoding="utf-8") for name in names] == JOINT


JOINT: list[str] = [
    "#version: 0.2\nl o\nw e\nlo w</w>\nwe s\nwes t</w>\n",
    "low 2\nlo@@ 1\nwe@@ 1\nr 1\n",
    "n@@ 2\ne@@ 2\nwest 2\nlow 1\n",
]


def test_encode_takes_a_dictionary() -> None:
    codes = {("l", "o"): 0, ("lo", "w</w>"): 1}
    reverse = {"lo": ("l", "o"), "low</w>": ("lo", "w</w>")}
    assert tuple(apply_bpe.encode("low", codes, reverse, None, "@@", (0, 2), {})) == ("low",)
    assert tuple(apply_bpe.encode("low", codes, reverse, {"lo@@", "w"}, "@@", (0, 2), {})) == ("lo", "w")


def test_what_is_not_covered_says_so() -> None:
    with pytest.raises(NotImplementedError, match="byte_fallback"):
        learn_bpe(io.StringIO("a"), io.StringIO(), 1, is_bytes=True)
    with pytest.raises(NotImplementedError, match="version"):
        BPE(io.StringIO("#version: 0.3\na b\n"))
    with pytest.raises(NotImplementedError, match="vocabulary"):
        BPE(io.StringIO("a b\n"), vocab={"a"})
    with pytest.raises(ValueError, match="merge 2 of the codes is 'a b c'"):
        BPE(io.StringIO("#version: 0.2\na b\na b c\n"))


def test_installed_in_place_of_the_package() -> None:
    code = (
        "import dragoman.compat; dragoman.compat.install('subword_nmt');"
        "from subword_nmt.apply_bpe import isolate_glossary; import subword_nmt.get_vocab;"
        "print(isolate_glossary('1934USABUSA', 'USA'))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "['1934', 'USA', 'B', 'USA']\n"


if __name__ == "__main__":
    print(ascii(golden()))
