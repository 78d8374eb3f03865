"""dragoman.compat.sentencepiece: the same results as sentencepiece 0.2.3, and models that it reads.

golden/sentencepiece.json has the results of the library; golden/make_sentencepiece_golden.py made it.
"""

from __future__ import annotations

import collections
import copy
import io
import json
import math
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.compat import sentencepiece as spm
from dragoman.compat.sentencepiece import sentencepiece_model_pb2, sentencepiece_pb2

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "golden"))
import make_sentencepiece_golden as golden  # noqa: E402

EXPECTED = json.loads((HERE / "golden" / "sentencepiece.json").read_text(encoding="utf-8"))["models"]
UNIGRAM = golden.MODELS / "sentencepiece_unigram_bytes.model"
BPE = golden.MODELS / "sentencepiece_bpe_symbols_bytes.model"
LINES = ["the river and the hat", "a hat on the river", "12 hats, 345 rivers", "Fluß und Hut"] * 20


def train(**flags: Any) -> bytes:
    """Return a model that was learned from LINES."""
    model = io.BytesIO()
    options: dict[str, Any] = {"sentence_iterator": iter(LINES), "vocab_size": 60, "minloglevel": 2, **flags}
    spm.SentencePieceTrainer.train(model_writer=model, **options)
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    """Return the pieces of a model, without the first three, which are special by default."""
    sp = spm.SentencePieceProcessor(model_proto=model)
    return [sp.id_to_piece(i) for i in range(3, len(sp))]


@pytest.mark.parametrize("name", golden.NAMES)
def test_results_are_the_librarys(name: str) -> None:
    found = golden.results(spm, golden.MODELS / f"{name}.model")
    for key, expected in EXPECTED[name].items():
        assert found[key] == expected, key


def test_encode_has_every_form() -> None:
    sp = spm.SentencePieceProcessor(model_file=UNIGRAM)
    text = "the river"
    ids = sp.encode(text)
    assert sp.encode([text, "a"], return_type=int, num_threads=2) == [ids, sp.encode("a")]
    array = sp.encode(text, out_type="numpy")
    assert array.dtype == np.int32 and array.tolist() == ids and not array.flags.writeable
    assert sp.decode(array) == sp.decode(np.array([ids, ids], np.int64))[1] == text
    assert [piece.encode() for piece in sp.encode(text, return_type=str)] == sp.encode(text, return_type=bytes)
    message = sp.encode(text, return_type="proto")
    assert isinstance(message, sentencepiece_pb2.SentencePieceText)
    assert [piece.id for piece in message.pieces] == ids and message.text == text
    assert message.SerializeToString() == sp.encode(text, return_type="serialized_proto")
    assert sp.parallel_encode(text, chunk_len=2) == ids
    with pytest.raises(ValueError, match="immutable_proto"):
        sp.encode(text, return_type="immutable_proto")
    assert [p.end for p in sp.encode("Hütte", out_type="immutable_proto").pieces][-1] == 5
    assert [p.end for p in sp.encode("Hütte", return_type="proto").pieces][-1] == 6
    with pytest.raises(TypeError):
        sp.encode(3)
    with pytest.raises(RuntimeError, match="Load"):
        spm.SentencePieceProcessor().encode(text)


def test_bytes_that_are_not_utf8_are_read_as_by_the_library() -> None:
    # sp.encode(b"a\xff\xfeb", return_type=bytes) of sentencepiece 0.2.3.
    sp = spm.SentencePieceProcessor(model_file=golden.MODELS / "sentencepiece_char.model")
    assert b"".join(sp.encode(b"a\xff\xfeb", return_type=bytes)).decode() == "▁a\ufffd\ufffdb"


def test_sampling_follows_the_distribution() -> None:
    sp = spm.SentencePieceProcessor(model_file=UNIGRAM)
    text = "hat"
    spm.set_random_generator_seed(7)
    counts = collections.Counter(
        tuple(each) for each in sp.encode([text] * 4000, enable_sampling=True, nbest_size=-1, alpha=0.5)
    )
    best = sp.nbest_encode(text, return_type="proto", nbest_size=100).nbests
    weights = {tuple(piece.id for piece in each.pieces): math.exp(0.5 * each.score) for each in best}
    total = sum(weights.values())
    assert set(counts) <= set(weights)
    for ids, weight in weights.items():
        share = weight / total
        assert abs(counts[ids] - 4000 * share) < 5 * math.sqrt(4000 * share) + 1
    few = {tuple(sp.sample_encode_as_ids(text, 2, 0.1)) for _ in range(50)}
    assert few == {tuple(piece.id for piece in each.pieces) for each in best[:2]}
    assert sp.calculate_entropy(text, 0.5) == pytest.approx(
        -sum(w / total * math.log(w / total) for w in weights.values()), rel=1e-4
    )
    for ids, score in sp.sample_encode_and_score(text, num_samples=3, alpha=0.5, wor=False):
        assert score == pytest.approx(math.log(weights[tuple(ids)] / total), rel=1e-4)
    with pytest.raises(NotImplementedError, match="NBestEncode"):
        sp.sample_encode_and_score(text, num_samples=2, alpha=0.5, wor=True)


def test_bpe_sampling_skips_merges() -> None:
    sp = spm.SentencePieceProcessor(model_file=BPE)
    text = "hats and nerds"
    assert sp.encode(text, enable_sampling=True, alpha=0.0) == sp.encode(text)
    drawn = [sp.encode(text, enable_sampling=True, alpha=0.5) for _ in range(40)]
    assert len({tuple(each) for each in drawn}) > 5
    assert set(sp.decode(drawn)) == {text}
    with pytest.raises(RuntimeError, match="NBestEncode"):
        sp.nbest_encode(text, nbest_size=2)


def test_extra_options_and_vocabulary() -> None:
    sp = spm.SentencePieceProcessor(model_file=UNIGRAM)
    plain, pieces = sp.encode("the river"), sp.encode("the river", out_type=str)
    sp.SetEncodeExtraOptions("reverse:bos:eos")
    assert sp.encode("the river") == [sp.bos_id(), *plain[::-1], sp.eos_id()]
    message = sp.encode_as_proto("the river")
    assert [piece.piece for piece in message.pieces] == ["<s>", *pieces[::-1], "</s>"]
    sp.SetEncodeExtraOptions("")
    sp.SetVocabulary(["▁the"])
    assert all(len(piece) == 1 or piece == "▁the" for piece in sp.encode("the river", out_type=str))
    sp.ResetVocabulary()
    assert sp.encode("the river") == plain
    with pytest.raises(RuntimeError, match="no_such"):
        sp.SetEncodeExtraOptions("no_such")


def test_copies_and_pickles_keep_options() -> None:
    sp = spm.SentencePieceProcessor(model_file=UNIGRAM, add_bos=True, out_type=str)
    for other in (pickle.loads(pickle.dumps(sp)), copy.deepcopy(sp)):
        assert other.encode("the hat") == sp.encode("the hat")


def test_methods_have_both_spellings() -> None:
    for name in ("EncodeAsIds", "NBestEncodeAsPieces", "SampleEncodeAndScore", "LoadFromSerializedProto", "IdToPiece"):
        assert hasattr(spm.SentencePieceProcessor, name)
    for name in ("encode_as_ids", "nbest_encode_as_pieces", "sample_encode_and_score", "id_to_piece", "tokenize"):
        assert hasattr(spm.SentencePieceProcessor, name)


def test_models_can_be_edited_as_messages() -> None:
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(UNIGRAM.read_bytes())
    assert model.SerializeToString() == UNIGRAM.read_bytes()
    model.pieces.add(piece="<2de>", score=0.0, type=model.SentencePiece.USER_DEFINED)
    sp = spm.SentencePieceProcessor(model_proto=model.SerializeToString())
    assert sp.encode("<2de>", out_type=str)[-1] == "<2de>"
    assert model.HasField("trainer_spec") and not model.HasField("denormalizer_spec")
    with pytest.raises(AttributeError, match="no_such"):
        model.trainer_spec.no_such = 1
    with pytest.raises(ValueError, match="does not begin a field"):
        model.ParseFromString(b"\x0b")


@pytest.mark.parametrize("model_type", ["unigram", "bpe", "char", "word"])
def test_training_lays_out_the_named_pieces(model_type: str) -> None:
    model = train(
        model_type=model_type,
        vocab_size=40,
        hard_vocab_limit=False,
        pad_id=0,
        unk_id=3,
        unk_piece="[UNK]",
        control_symbols=["<2de>", "<2en>"],
        user_defined_symbols="<sep>,hat",
        unk_surface="?",
    )
    pieces = ["<pad>", "<s>", "</s>", *pieces_of(model)]
    words = ["▁<sep>", "hat", "▁hat"] if model_type == "word" else ["hat"]
    assert pieces[3 : 7 + len(words)] == ["[UNK]", "<2de>", "<2en>", "<sep>", *words]
    sp = spm.SentencePieceProcessor(model_proto=model)
    assert (sp.pad_id(), sp.bos_id(), sp.eos_id(), sp.unk_id()) == (0, 1, 2, 3)
    assert sp.is_control(4) and not sp.is_control(pieces.index("hat"))
    assert sp.decode([3]) == "?"
    assert len(set(pieces)) == len(pieces) <= 40
    assert sp.decode(sp.encode("the hat")) == "the hat"


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_training_obeys_its_flags(model_type: str) -> None:
    def learned(**flags: Any) -> list[str]:
        return pieces_of(train(model_type=model_type, hard_vocab_limit=False, **flags))

    assert not any("1" in piece and len(piece) > 1 for piece in learned(split_digits=True))
    assert max(map(len, learned(max_sentencepiece_length=3))) == 3
    assert "Z" in learned(required_chars="Z") and len(learned(required_chars="Z")) <= 57
    assert "F" in "".join(learned()) and "F" not in "".join(learned(normalization_rule_name="nmt_nfkc_cf"))
    assert any(piece.endswith("▁") for piece in learned(treat_whitespace_as_suffix=True))
    assert any("▁" in piece[1:] for piece in learned(split_by_whitespace=False, vocab_size=90))
    assert "<0x41>" in learned(byte_fallback=True, vocab_size=320)
    assert all(len(piece) == 1 or "e" not in piece or "r" not in piece
               for piece in learned(pretokenization_delimiter="e", vocab_size=50))
    few = learned(input_sentence_size=1, shuffle_input_sentence=False)
    assert "1" not in few and "v" in few
    assert "v" not in learned(max_sentence_length=15)


def test_training_writes_files_and_obeys_a_string_of_flags(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(LINES), encoding="utf-8")
    spm.SentencePieceTrainer.Train(
        f"--input={tmp_path}/text --model_prefix={tmp_path}/m --vocab_size=50 --model_type=bpe --minloglevel=2"
    )
    sp = spm.SentencePieceProcessor(model_file=f"{tmp_path}/m.model")
    assert len(sp) == 50
    rows = [line.split("\t") for line in (tmp_path / "m.vocab").read_text(encoding="utf-8").splitlines()]
    assert [row[0] for row in rows] == [sp.id_to_piece(i) for i in range(50)]
    assert [float(row[1]) for row in rows] == pytest.approx(sp.get_score(list(range(50))))


def test_pretokenizer_bounds_pieces() -> None:
    model = train(vocab_size=40, pretokenizer=lambda text: [part for part in text.replace("h", "h|").split("|")],
                  hard_vocab_limit=False)
    assert not any("h" in piece[:-1] for piece in pieces_of(model))
    with pytest.raises(ValueError, match="the pretokenizer changes"):
        train(pretokenizer=lambda text: ["x"])
    with pytest.raises(RuntimeError, match="ZeroDivisionError|division"):
        train(pretokenizer=lambda text: [str(1 // 0)])


@pytest.mark.parametrize(
    ("flags", "error", "message"),
    [
        ({"no_such": 1}, RuntimeError, "no_such"),
        ({"vocab_size": "many"}, RuntimeError, "vocab_size"),
        ({"vocab_size": 20000}, RuntimeError, "too high"),
        ({"vocab_size": 5}, RuntimeError, "too small"),
        ({"model_type": "x"}, RuntimeError, "unigram"),
        ({"seed_sentencepieces_file": "f"}, NotImplementedError, "seed_sentencepieces_file"),
        ({"denormalization_rule_tsv": "f"}, NotImplementedError, "denormalization_rule_tsv"),
        ({"input_format": "tsv"}, NotImplementedError, "--counts"),
        ({"input": "/no/such"}, RuntimeError, "either input or sentence_iterator"),
        ({"control_symbols": ["a", "a"]}, RuntimeError, "already defined"),
        ({"split_digits": "maybe"}, RuntimeError, "split_digits"),
    ],
)
def test_training_refuses_by_name(flags: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        train(**flags)


def test_missing_files_are_oserrors_and_runtime_errors(tmp_path: Path) -> None:
    for kind in (OSError, RuntimeError):
        with pytest.raises(kind, match="no_such"):
            spm.SentencePieceProcessor(model_file=tmp_path / "no_such.model")
    with pytest.raises(RuntimeError):
        spm.SentencePieceProcessor(model_proto=b"not a model")


def test_normalizer() -> None:
    rules = spm.SentencePieceNormalizer(norm_map=[("foo", "bar"), ("ü", "ue")], add_dummy_prefix=False)
    assert rules.normalize(["foo  ü", b"x foo"]) == ["bar▁ue", "x▁bar".encode()]
    assert rules.decompile() == [("foo", "bar"), ("ü", "ue")]
    assert pickle.loads(pickle.dumps(rules)).normalize("foo") == "bar"
    named = spm.SentencePieceNormalizer(rule_name="nmt_nfkc")
    assert ("ﬁ", "fi") in named.decompile()
    model = train(normalizer=rules, vocab_size=40, hard_vocab_limit=False)
    assert spm.SentencePieceProcessor(model_proto=model).normalize("foo") == "bar"
    with pytest.raises(ValueError, match="add_dummy_prefix"):
        train(normalizer=rules, add_dummy_prefix=True)


def test_n_best_ends_at_its_timeout() -> None:
    sp = spm.SentencePieceProcessor(model_file=UNIGRAM)
    text = "the" * 20000
    assert len(sp.nbest_encode(text, nbest_size=10)) == 10
    spm.set_nbest_timeout(1)
    try:
        assert len(sp.nbest_encode(text, nbest_size=10)) == 1
    finally:
        spm.set_nbest_timeout(0)
