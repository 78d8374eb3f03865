"""dragoman.compat.tokenizers gives what the package `tokenizers` gives.

golden/tokenizers.json is written by make_tokenizers_golden.py.
"""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.compat.tokenizers import (
    AddedToken,
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    Encoding,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

GOLDEN = json.loads((Path(__file__).parent / "golden" / "tokenizers.json").read_text())
CASES = [(name, i) for name, section in GOLDEN.items() for i in range(len(section["cases"]))]


def shown(encoding: Encoding, like: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of an encoding that a golden row has, as JSON has them."""
    made: dict[str, Any] = {name: getattr(encoding, name) for name in like if name != "overflowing"}
    if "offsets" in made:
        made["offsets"] = [list(offset) for offset in made["offsets"]]
    parts = encoding.overflowing
    assert len(parts) == len(like["overflowing"])
    made["overflowing"] = [shown(part, row) for part, row in zip(parts, like["overflowing"])]
    return made


def small() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.add_tokens(["my", "name", "is", "john", "pair"])
    return tokenizer


@pytest.mark.parametrize(("name", "case"), CASES)
def test_same_as_the_package(name: str, case: int) -> None:
    tokenizer = Tokenizer.from_str(GOLDEN[name]["tokenizer"])
    given = GOLDEN[name]["cases"][case]
    if given["truncation"] is not None:
        tokenizer.enable_truncation(**given["truncation"])
    if given["padding"] is not None:
        tokenizer.enable_padding(**given["padding"])
    batch = [tuple(text) if isinstance(text, list) else text for text in given["batch"]]
    encodings = tokenizer.encode_batch(batch)
    for encoding, row in zip(encodings, given["encodings"], strict=True):
        assert shown(encoding, row) == row
        assert len(encoding) == len(row["ids"])
    assert [each.ids for each in tokenizer.encode_batch_fast(batch)] == [row["ids"] for row in given["encodings"]]
    decoded = [tokenizer.decode(row["ids"], skip_special_tokens=case % 2 == 0) for row in given["encodings"]]
    assert decoded == given["decoded"]
    words = tokenizer.encode(batch[4].split(), is_pretokenized=True, add_special_tokens=False)
    assert shown(words, given["words"]) == given["words"]


@pytest.mark.parametrize("name", GOLDEN)
def test_files_keep_their_content(name: str, tmp_path: Path) -> None:
    content = GOLDEN[name]["tokenizer"]
    tokenizer = Tokenizer.from_str(content)
    assert tokenizer.to_str() == content
    tokenizer.save(tmp_path / "tokenizer.json")
    assert Tokenizer.from_file(tmp_path / "tokenizer.json").to_str() == content
    assert Tokenizer.from_buffer(content.encode()).to_str() == content
    assert Tokenizer.from_pretrained(tmp_path).to_str() == content
    assert pickle.loads(pickle.dumps(tokenizer)).to_str() == content
    assert Tokenizer(tokenizer).to_str() == content


def test_unknown_characters_are_dropped() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    assert tokenizer.encode("axb xab").ids == [2, 2]
    assert [encoding.ids for encoding in tokenizer.encode_batch(["", "xx", "ab"])] == [[], [], [2]]


def test_added_tokens_have_ids_after_the_model_or_those_of_the_model() -> None:
    tokenizer = Tokenizer(models.WordLevel({"u": 0, "a": 1}, unk_token="u"))
    assert tokenizer.add_tokens(["x", "a", "", AddedToken("y", lstrip=True)]) == 3
    assert tokenizer.add_tokens(["x"]) == 0
    assert tokenizer.get_vocab() == {"u": 0, "a": 1, "x": 2, "y": 3}
    assert tokenizer.get_vocab(with_added_tokens=False) == {"u": 0, "a": 1}
    assert tokenizer.get_vocab_size() == 4
    assert tokenizer.token_to_id("y") == 3
    assert tokenizer.id_to_token(3) == "y"
    assert tokenizer.id_to_token(4) is None


def test_added_tokens_take_spaces_and_respect_words() -> None:
    tokenizer = small()
    tokenizer.add_tokens([AddedToken("<x>", lstrip=True, rstrip=True), AddedToken("ham", single_word=True)])
    encoding = tokenizer.encode("my  <x>  name hamham ham")
    assert encoding.tokens == ["my", "  <x>  ", "name", "ham"]
    assert encoding.offsets == [(0, 2), (2, 9), (9, 13), (21, 24)]


def test_special_tokens_can_be_plain_text() -> None:
    tokenizer = Tokenizer(models.WordLevel({"u": 0, "s": 1}, unk_token="u"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>"])
    assert tokenizer.encode("s<s>").ids == [1, 2]
    tokenizer.encode_special_tokens = True
    assert tokenizer.encode("s<s>").ids == [1, 0, 1, 0]
    assert tokenizer.decode([1, 2]) == "s"
    assert tokenizer.decode([1, 2], skip_special_tokens=False) == "s <s>"


def test_components_can_be_set_changed_and_removed() -> None:
    tokenizer = Tokenizer(models.WordLevel({"u": 0, "a": 1}, unk_token="u"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFC()])
    assert tokenizer.encode("A").ids == [0]
    tokenizer.normalizer[1] = normalizers.Lowercase()
    assert tokenizer.encode(" A ").ids == [1]
    tokenizer.normalizer = None
    assert tokenizer.encode("A").ids == [0]
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s"), "isolated")
    assert tokenizer.encode("a a").word_ids == [0, 1, 2]
    tokenizer.pre_tokenizer.behavior = "removed"
    assert tokenizer.encode("a a").word_ids == [0, 1]
    with pytest.raises(TypeError, match="not an instance of 'PreTokenizer'"):
        tokenizer.pre_tokenizer = normalizers.NFC()


def test_an_encoding_keeps_what_it_was_made_with() -> None:
    tokenizer = small()
    encoding = tokenizer.encode("my name is john")
    tokenizer.enable_truncation(2)
    tokenizer.add_tokens(["ohn"])
    tokenizer.model = models.BPE({"m": 0}, [])
    assert encoding.tokens == ["my", "name", "is", "john"]
    assert encoding.offsets == [(0, 2), (3, 7), (8, 10), (11, 15)]


def test_components_work_alone() -> None:
    assert normalizers.BertNormalizer().normalize_str("Héllo") == "hello"
    assert pre_tokenizers.Whitespace().pre_tokenize_str("é b!") == [("é", (0, 1)), ("b", (2, 3)), ("!", (3, 4))]
    assert decoders.WordPiece().decode(["un", "##like"]) == "unlike"
    token = models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).tokenize("ab")[0]
    assert token.as_tuple() == (2, "ab", (0, 2))
    token = models.WordLevel({"u": 0}, "u").tokenize("ß")[0]
    assert token.as_tuple() == (0, "u", (0, 2))
    template = processors.TemplateProcessing("<s> $0", "<s> $A $B:1", [("<s>", 0)])
    assert template.num_special_tokens_to_add(False) == 1
    assert template.process(small().encode("my")).tokens == ["<s>", "my"]


@pytest.mark.parametrize(
    "component",
    [
        models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], unk_token="a"),
        models.Unigram([("a", -1.5)], 0),
        models.WordPiece({"[UNK]": 0}),
        normalizers.Replace(Regex("a+"), "b"),
        normalizers.Sequence([normalizers.Prepend("_"), normalizers.StripAccents()]),
        pre_tokenizers.Metaspace("_", "first", split=False),
        pre_tokenizers.Punctuation("merged_with_next"),
        decoders.Strip("x", 1, 2),
        processors.BertProcessing(("s", 1), ("c", 2)),
        processors.TemplateProcessing("<s> $0", special_tokens=[("<s>", 0)]),
    ],
)
def test_components_are_pickled_and_copied(component: Any) -> None:
    for made in (pickle.loads(pickle.dumps(component)), copy.deepcopy(component)):
        assert type(made) is type(component)
        assert made.__getstate__() == component.__getstate__()
        assert repr(made) == repr(component)


def test_what_is_not_covered_names_what_covers_it() -> None:
    with pytest.raises(NotImplementedError, match=r"Tokenizer.from_file\(\)"):
        Tokenizer.from_pretrained("bert-base-uncased")
    with pytest.raises(NotImplementedError, match="is_pretokenized"):
        pre_tokenizers.PreTokenizer.custom(object())
    tokenizer = small()
    tokenizer.pre_tokenizer = pre_tokenizers.UnicodeScripts()
    with pytest.raises(NotImplementedError, match="UnicodeScripts"):
        tokenizer.encode("a")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["my"],), "TextInputSequence must be str"),
        (("my", ["name"]), "TextInputSequence must be str"),
        ((None,), "TextInputSequence must be str"),
        (("my", None, True), "InputSequence must be Union"),
    ],
)
def test_wrong_texts_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        small().encode(*arguments)


@pytest.mark.parametrize("batch", ["my name", 5, ["my", 5], [("my", "name", "is")]])
def test_wrong_batches_are_refused(batch: Any) -> None:
    with pytest.raises(TypeError):
        small().encode_batch(batch)


def test_batches_may_be_arrays() -> None:
    tokenizer = small()
    assert [each.ids for each in tokenizer.encode_batch(np.array(["my name", "is"]))] == [[0, 1], [2]]
    pairs = tokenizer.encode_batch(np.array([["my", "name"], ["is", "john"]]))
    assert [each.type_ids for each in pairs] == [[0, 1], [0, 1]]
    words = tokenizer.encode_batch(np.array([["my", "name"]], dtype=object), is_pretokenized=True)
    assert words[0].word_ids == [0, 1]


def test_truncation_errors_come_with_the_call() -> None:
    tokenizer = small()
    tokenizer.enable_truncation(2, strategy="only_second")
    with pytest.raises(ValueError, match="Second sequence not provided"):
        tokenizer.encode("my name is john")
    tokenizer.enable_truncation(2, stride=2)
    with pytest.raises(ValueError, match="strictly less"):
        tokenizer.encode_batch(["my", "my name is john"])
    with pytest.raises(ValueError, match="Unknown `strategy`"):
        tokenizer.enable_truncation(2, strategy="x")


def test_dropout_draws_again_each_time() -> None:
    vocab = {token: id for id, token in enumerate(["a", "b", "ab"])}
    tokenizer = Tokenizer(models.BPE(vocab, [("a", "b")], dropout=0.5))
    drawn = {tuple(tokenizer.encode("ab").ids) for _ in range(100)}
    assert drawn == {(0, 1), (2,)}
    encoding = tokenizer.encode("ab")
    assert len(encoding.ids) == len(encoding.offsets) == len(encoding)
    tokenizer.enable_padding(pad_to_multiple_of=3)
    assert {len(each) for each in tokenizer.encode_batch(["abababab"] * 100)} in ({6}, {9})


def test_learned_words_and_merges() -> None:
    # tokenizers 0.23.3: BpeTrainer(vocab_size=9), pre-tokenizer Whitespace, on these texts
    tokenizer = Tokenizer(models.BPE(unk_token="u"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=9, special_tokens=["u"], show_progress=False)
    tokenizer.train_from_iterator([["low lower", "lowest"], ["slow"]], trainer)
    assert tokenizer.get_vocab() == {"u": 0, "e": 1, "l": 2, "o": 3, "r": 4, "s": 5, "t": 6, "w": 7, "lo": 8}
    word_level = Tokenizer(models.WordLevel(unk_token="u"))
    word_level.pre_tokenizer = pre_tokenizers.Whitespace()
    word_level.train_from_iterator(["b a b c"], trainers.WordLevelTrainer(vocab_size=3, special_tokens=["u"]))
    assert word_level.get_vocab() == {"u": 0, "b": 1, "a": 2}


def test_unigram_models_are_learned() -> None:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=40, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(["a cat sat on the mat", "the cat and the rat"] * 5, trainer)
    assert tokenizer.token_to_id("<unk>") == 0
    assert tokenizer.get_vocab_size() <= 40
    encoding = tokenizer.encode("the cat")
    assert "".join(encoding.tokens) == "▁the▁cat"


def test_train_reads_files(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("low low\nlower\n")
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train(str(tmp_path / "text"), vocab_size=260, min_frequency=1, special_tokens=["<s>"])
    assert tokenizer.token_to_id("<s>") == 0
    assert tokenizer.encode("low").tokens == ["low"]
    assert tokenizer.decode(tokenizer.encode("low ä").ids) == "low ä"


def test_bert_wordpiece_tokenizer() -> None:
    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator(["A first sentence", "Another sentence", "And a last one"], show_progress=False)
    assert tokenizer.encode("A sentence").tokens == ["a", "sentence"]


def test_decode_stream() -> None:
    tokenizer = small()
    stream = decoders.DecodeStream(skip_special_tokens=False)
    assert [stream.step(tokenizer, id) for id in range(4)] == ["my", " name", " is", " john"]


def test_async_calls_give_the_same() -> None:
    async def run() -> tuple[list[Encoding], list[str]]:
        tokenizer = small()
        return await tokenizer.async_encode_batch(["my name"]), await tokenizer.async_decode_batch([[0, 1]])

    encodings, texts = asyncio.run(run())
    assert encodings[0].ids == [0, 1]
    assert texts == ["my name"]


def test_encoding_can_be_changed() -> None:
    encoding = small().encode("my name is john")
    copied = pickle.loads(pickle.dumps(encoding))
    assert copied.offsets == encoding.offsets
    encoding.truncate(2, stride=1)
    assert [encoding.ids, *(each.ids for each in encoding.overflowing)] == [[0, 1], [1, 2], [2, 3]]
    encoding.pad(3, direction="left", pad_id=9, pad_token="p")
    assert encoding.tokens == ["p", "my", "name"]
    assert encoding.attention_mask == [0, 1, 1]
    merged = Encoding.merge([copied, copied])
    assert merged.offsets[4:6] == [(15, 17), (18, 22)]
    with pytest.warns(DeprecationWarning):
        assert len(copied.words) == 4
