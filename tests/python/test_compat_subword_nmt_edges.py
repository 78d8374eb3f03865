"""Corner cases of dragoman.compat.subword_nmt. Expected values are those of subword-nmt 0.3.9 for the same calls."""

from __future__ import annotations

import argparse
import copy
import io
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.compat import subword_nmt
from dragoman.compat.subword_nmt import apply_bpe
from dragoman.compat.subword_nmt.apply_bpe import BPE
from dragoman.compat.subword_nmt.learn_bpe import get_vocabulary, learn_bpe
from dragoman.compat.subword_nmt.learn_joint_bpe_and_vocab import learn_joint_bpe_and_vocab

CODES = "#version: 0.2\nt h\nth e</w>\no u\ns e</w>\n"


def bpe(**options: object) -> BPE:
    return BPE(io.StringIO(CODES), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("separator", ["", " ", "x", "0", "\u00e9", "@@ ", "\n", "##", "\ufdd0"])
def test_any_separator(separator: str) -> None:
    assert bpe(separator=separator).segment("the houx\ufdd0") == f"the h{separator} ou{separator} x{separator} \ufdd0"


def test_a_space_is_a_character_of_a_given_word() -> None:
    assert bpe().segment_tokens(["the house", "the"]) == ["th@@", "e@@", " @@", "h@@", "ou@@", "se", "the"]
    assert bpe().segment_tokens([" "]) == [" "]
    assert bpe().segment_tokens(["a ", "", "b"]) == ["a@@", " ", "b"]
    assert bpe().segment_tokens(["\ue000 the", "the\ue000"]) == ["\ue000@@", " @@", "the", "th@@", "e@@", "\ue000"]


def test_lone_surrogates_are_characters() -> None:
    assert bpe().process_line("the \ud800the") == "the \ud800@@ the"


def test_changed_merges_and_separators_apply_to_the_next_text() -> None:
    made = bpe()
    assert made.segment("thet") == "th@@ e@@ t"
    made.bpe_codes[("e", "t</w>")] = 9
    assert made.segment("thet") == "th@@ et"
    del made.bpe_codes[("t", "h")]
    made.separator = "_"
    assert made.segment("thet") == "t_ h_ et"
    made.bpe_codes = {("t", "h"): 0}
    assert made.segment("the") == "th_ e"
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert other.segment("the") == "th_ e"


def test_encode_returns_what_the_package_returns() -> None:
    made = bpe()
    rest = (made.bpe_codes, made.bpe_codes_reverse, None, "@@")
    assert apply_bpe.encode("house", *rest, (0, 2), {}) == ("h", "ou", "se")
    assert apply_bpe.encode("the x", *rest, (0, 2), {}) == ("th", "e", " ", "x")
    with pytest.raises(NotImplementedError, match="version"):
        apply_bpe.encode("the", *rest, (0, 3), {})
    with pytest.raises(NotImplementedError, match="byte-level"):
        apply_bpe.encode("the", *rest, (0, 2), {}, is_bytes=True)
    with pytest.raises(NotImplementedError, match="vocabulary"):
        apply_bpe.encode("the", made.bpe_codes, {}, {"t"}, "@@", (0, 1), {})


def learned(lines: list[str], **options: object) -> str:
    codes = io.StringIO()
    learn_bpe(lines, codes, 2, **options)  # type: ignore[arg-type]
    return codes.getvalue()


def test_counts_of_dictionaries() -> None:
    assert get_vocabulary(["low +4", "low -1", "a 1_0"], is_dict=True) == {"low": 3, "a": 10}
    assert learned(["low 2", "ow 1"], is_dict=True, min_frequency=1.5) == "#version: 0.2\no w</w>\nl ow</w>\n"
    for line, message in (("low", "line 1"), ("low x", "line 1"), ("low 1 2", "line 1"), ("low -1", "negative")):
        with pytest.raises(ValueError, match=message):
            learned([line], is_dict=True)
    for huge in (2**63, 2**64, 10**30):
        with pytest.raises(ValueError, match="too large"):
            learned([f"low {huge}"], is_dict=True)


def test_joint_learning_ends_lines_where_the_package_does(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("ab cd\u2028ef\n ab\r\nab\x0bcd ab\x85ab\x1cab\n" * 5, encoding="utf-8", newline="")
    names = [tmp_path / "text", tmp_path / "codes", tmp_path / "vocabulary"]
    with open(names[0]) as text, open(names[1], "w") as codes, open(names[2], "w") as vocabulary:
        learn_joint_bpe_and_vocab(
            argparse.Namespace(
                input=[text], output=codes, vocab=[vocabulary], symbols=100, min_frequency=2, separator=b"@@"
            )
        )
    assert names[1].read_text(encoding="utf-8") == (
        "#version: 0.2\na b</w>\na b\ne f</w>\nd \u2028</w>\nc d\u2028</w>\nc d</w>\nab \x85</w>\nab \x1c</w>\n"
        "ab \x0b</w>\n"
    )
    assert names[2].read_text(encoding="utf-8").splitlines()[:2] == ["@@ 20", "ab 15"]


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dragoman.compat.subword_nmt", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_the_program(tmp_path: Path) -> None:
    codes, text, vocabulary = (str(tmp_path / name) for name in ("codes", "text", "vocabulary"))
    corpus = "low lower lowest\nlow newest\n"
    assert run("learn-bpe", "-s", "4", "-o", codes, text=corpus).returncode == 0
    assert Path(codes).read_text() == "#version: 0.2\nl o\nw e\nwe s\nwes t</w>\n"
    assert run("apply-bpe", "-c", codes, text=" lowest x\n").stdout == " lo@@ west x\n"
    assert run("apply-bpe", "-c", codes, "--glossaries", "est", "-s", "_", text="lowest").stdout == "lo_ w_ est"
    assert run("get-vocab", text=corpus).stdout.splitlines()[0] == "low 2"
    Path(text).write_text(corpus)
    joint = ("learn-joint-bpe-and-vocab", "-i", text, "-s", "4", "-o", codes, "--write-vocabulary", vocabulary)
    assert run(*joint).returncode == 0
    assert Path(vocabulary).read_text().startswith("lo@@ 4\nw 2\nwest 2\n")
    filtered = run("apply-bpe", "-c", codes, "--vocabulary", vocabulary, "--vocabulary-threshold", "3", text="west\n")
    assert filtered.stdout == "w@@ e@@ s@@ t\n"
    failed = run("apply-bpe", "-c", str(tmp_path / "none"), text="low\n")
    assert (failed.returncode, failed.stdout) == (1, "") and "none" in failed.stderr
    assert "byte-level" in run("learn-bpe", "--byte", text=corpus).stderr


def test_modules_that_are_not_covered_name_what_covers_them() -> None:
    with pytest.raises(NotImplementedError, match="dragoman.evaluate"):
        subword_nmt.chrF
    with pytest.raises(AttributeError):
        subword_nmt.other
