"""dragoman.compat.youtokentome.

The model and the rows of tests/tokenizer/golden were written by YouTokenToMe (make_youtokentome_golden.py).
"""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import Tokenizer
from dragoman.compat import youtokentome as yttm
from dragoman.compat.youtokentome import BPE, OutputType

GOLDEN = Path(__file__).parents[1] / "tokenizer" / "golden"
MODEL = str(GOLDEN / "youtokentome.model")
TEXT = "low lower\tlowest  low\nnew newer newest\u2581new\n" * 5


@pytest.fixture
def trained(tmp_path: Path) -> BPE:
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    return BPE.train(str(tmp_path / "text"), str(tmp_path / "model"), vocab_size=24)


def test_ids_are_those_of_youtokentome() -> None:
    bpe = BPE(MODEL)
    rows = json.loads((GOLDEN / "youtokentome.json").read_text(encoding="utf-8"))
    texts = [row["text"] for row in rows]
    assert bpe.encode(texts) == [row["ids"] for row in rows]
    special = [id for id, piece in enumerate(bpe.vocab()) if piece in ("<UNK>", "<PAD>", "<BOS>", "<EOS>")]
    decoded = bpe.decode([row["ids"] for row in rows], ignore_ids=special)
    assert [each.strip(" ") for each in decoded] == [row["decoded"].strip(" ") for row in rows]


def test_pieces_of_unknown_text_are_the_text(trained: BPE) -> None:
    assert trained.encode("low xyz lowxz", OutputType.SUBWORD) == ["▁low", "▁", "xyz", "▁low", "xz"]
    assert trained.encode("low xyz").count(trained.subword_to_id("<UNK>")) == 1


def test_begin_end_and_order(trained: BPE) -> None:
    assert trained.encode("low", OutputType.SUBWORD, bos=True, eos=True) == ["<BOS>", "▁low", "<EOS>"]
    assert trained.encode(["low new"], OutputType.SUBWORD, eos=True, reverse=True) == [["<EOS>", "▁new", "▁low"]]
    ids = trained.encode("low", bos=True, eos=True)
    assert (ids[0], ids[-1]) == (2, 3)
    assert trained.decode(ids) == ["<BOS> low<EOS>"]
    assert trained.decode(ids, ignore_ids=[2, 3]) == ["low"]


def test_vocabulary(trained: BPE) -> None:
    pieces = trained.vocab()
    assert trained.vocab_size() == len(pieces) == len(set(pieces)) == 24
    assert pieces[:4] == ["<PAD>", "<UNK>", "<BOS>", "<EOS>"]
    assert [trained.subword_to_id(piece) for piece in pieces] == list(range(24))
    assert [trained.id_to_subword(id) for id in range(24)] == pieces
    assert trained.subword_to_id("there is no such piece") == 1
    with pytest.raises(ValueError, match="id is 24"):
        trained.id_to_subword(24)


def test_spaces_of_any_kind_end_words(trained: BPE) -> None:
    assert trained.encode(" low\t\vlow\u2581low  ", OutputType.SUBWORD) == ["▁low"] * 3
    assert not any("\t" in piece or "▁" in piece[1:] for piece in trained.vocab())


def test_special_ids_are_where_they_are_wanted(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    usual = BPE.train(str(tmp_path / "text"), str(tmp_path / "usual"), 24)
    moved = BPE.train(str(tmp_path / "text"), str(tmp_path / "moved"), 24, bos_id=9, eos_id=23, unk_id=4)
    assert [moved.id_to_subword(id) for id in (0, 4, 9, 23)] == ["<PAD>", "<UNK>", "<BOS>", "<EOS>"]
    assert sorted(moved.vocab()) == sorted(usual.vocab())
    text = ["newest lowest x"]
    assert moved.encode(text, OutputType.SUBWORD) == usual.encode(text, OutputType.SUBWORD)
    without = BPE.train(str(tmp_path / "text"), str(tmp_path / "without"), 24, bos_id=-1, eos_id=-1)
    assert without.vocab_size() == 24
    with pytest.raises(ValueError, match="<BOS>"):
        without.encode("low", bos=True)


def test_the_file_is_read_as_any_other(trained: BPE) -> None:
    assert Tokenizer(trained.model).encode("newest low").tolist() == trained.encode("newest low")


def test_dropout_follows_the_seed_of_python(trained: BPE) -> None:
    assert trained.encode("newest", OutputType.SUBWORD, dropout_prob=1) == list("▁newest")
    random.seed(3)
    first = trained.encode(["newest lowest"] * 20, OutputType.SUBWORD, dropout_prob=0.5)
    random.seed(3)
    assert first == trained.encode(["newest lowest"] * 20, OutputType.SUBWORD, dropout_prob=0.5)
    assert len(set(map(tuple, first))) > 3


def test_it_can_be_pickled(trained: BPE) -> None:
    again: BPE = pickle.loads(pickle.dumps(trained))
    assert again.encode(["low newest"]) == trained.encode(["low newest"])


def test_wrong_arguments(trained: BPE, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="OutputType"):
        trained.encode("low", "id")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dropout_prob"):
        trained.encode("low", dropout_prob=2)
    with pytest.raises(TypeError, match="list"):
        trained.decode((1, 2))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nowhere"):
        BPE("nowhere")
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    data, model = str(tmp_path / "text"), str(tmp_path / "other")
    with pytest.raises(ValueError, match="too small"):
        BPE.train(data, model, 10)
    with pytest.raises(ValueError, match="must differ"):
        BPE.train(data, model, 24, bos_id=1)
    with pytest.raises(ValueError, match="unk_id"):
        BPE.train(data, model, 24, unk_id=-1)
    with pytest.raises(NotImplementedError, match="must be 0"):
        BPE.train(data, model, 24, pad_id=-1)


def test_the_command(trained: BPE) -> None:
    def run(*arguments: str, text: str = "") -> str:
        command = [sys.executable, "-m", "dragoman.compat.youtokentome", *arguments, "--model", trained.model]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True, encoding="utf-8").stdout

    assert run("encode", "--output_type", "subword", "--bos", text="low new\n\n") == "<BOS> ▁low ▁new \n<BOS> \n"
    ids = run("encode", "--output_type=id", "--stream", text="low\nnew\n")
    assert run("decode", text=ids) == "low\nnew\n"
    assert run("vocab").splitlines()[0] == "0\t<PAD>"
    merged = [line for line in run("vocab", "--verbose").splitlines() if "=" in line]
    assert len(merged) == len([piece for piece in trained.vocab()[4:] if len(piece) > 1])
    assert all(line.split("\t")[1].startswith(trained.vocab()[int(line.split("\t")[0])] + "=") for line in merged)


def test_the_command_leaves_out_bytes_that_are_not_utf8(trained: BPE) -> None:
    for arguments, text, expected in (
        (["encode", "--output_type", "subword"], b"low n\xffew\n\xc3\n", "\u2581low \u2581new \n\n"),
        (["decode"], b"\xff4\n", trained.decode([4])[0] + "\n"),
    ):
        command = [sys.executable, "-m", "dragoman.compat.youtokentome", *arguments, "--model", trained.model]
        run = subprocess.run(command, input=text, capture_output=True, check=True)
        assert run.stdout.decode() == expected
        assert run.stderr.decode().count("not UTF-8") == 1 and "line 1" in run.stderr.decode()


def test_special_pieces_that_a_model_lacks_have_no_id(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    data, model = str(tmp_path / "text"), str(tmp_path / "other")
    made = BPE.train(data, model, 24, pad_id=-1, bos_id=-1, unk_id=0, eos_id=1)
    assert [made.subword_to_id(piece) for piece in ("<PAD>", "<BOS>", "<EOS>", "<UNK>", "zzz")] == [-1, -1, 1, 0, 0]


def test_text_with_nul(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a\0b a\0b\n" * 5)
    made = BPE.train(str(tmp_path / "text"), str(tmp_path / "model"), 12)
    ids = made.encode(["a\0b"])
    assert made.decode(ids) == ["a\0b"]
    assert BPE(str(tmp_path / "model")).encode(["a\0b"]) == ids


@pytest.mark.parametrize("threads", [1.5, "1", None])
def test_a_wrong_number_of_threads_is_refused_at_once(threads: object) -> None:
    with pytest.raises(TypeError):
        BPE(MODEL, threads)  # type: ignore[arg-type]


def test_names_of_the_package() -> None:
    assert {"BPE", "OutputType"} <= set(dir(yttm))
