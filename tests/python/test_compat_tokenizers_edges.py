"""Corner cases of dragoman.compat.tokenizers. Expected values are those of tokenizers 0.23.3 for the same calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.compat.tokenizers import (
    AddedToken,
    ByteLevelBPETokenizer,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    tools,
    trainers,
)

VOCAB = {"<unk>": 0, "a": 1, "b": 2, "ab": 3}


def small() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(VOCAB, [("a", "b")], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def document(**parts: Any) -> dict[str, Any]:
    return {**json.loads(small().to_str()), **parts}


def opened(**parts: Any) -> Tokenizer:
    return Tokenizer.from_str(json.dumps(document(**parts)))


def test_words_may_change_after_encoding() -> None:
    words, batch = ["ab", "a"], [["ab"], ["b"]]
    encoding, encodings = small().encode(words, is_pretokenized=True), small().encode_batch(batch, is_pretokenized=True)
    words[0] = "b"
    words.append("x")
    batch[0][0] = "a"
    assert (encoding.tokens, encoding.offsets) == (["ab", "a"], [(0, 2), (0, 1)])
    assert encodings[0].tokens == ["ab"]


def test_several_leading_spaces_of_a_token_are_trimmed_though_one_was_added() -> None:
    tokenizer = small()
    tokenizer.post_processor = processors.ByteLevel()
    tokenizer.add_tokens([AddedToken("mask", lstrip=True)])
    assert tokenizer.encode("  mask mask").offsets == [(2, 6), (7, 11)]
    assert tokenizer.encode(" mask").offsets == [(0, 5)]


@pytest.mark.parametrize("ids", [[-1], [1, -100], (-1,)])
def test_negative_ids_are_refused(ids: Any) -> None:
    with pytest.raises(OverflowError):
        small().decode(ids)
    with pytest.raises(OverflowError):
        small().decode_batch([[1], ids])
    with pytest.raises(OverflowError):
        decoders.DecodeStream().step(small(), ids)


@pytest.mark.parametrize(
    "name", ["char_to_token", "char_to_word", "token_to_chars", "token_to_word", "token_to_sequence", "word_to_tokens"]
)
def test_places_are_not_negative(name: str) -> None:
    for encoding in (small().encode("ab a"), small().encode("ab", "a")):
        with pytest.raises(OverflowError):
            getattr(encoding, name)(-1)
        with pytest.raises(TypeError):
            getattr(encoding, name)(1.0)
    with pytest.raises(OverflowError):
        encoding.word_to_chars(0, -1)
    with pytest.raises(OverflowError):
        encoding.set_sequence_id(-1)


def test_ids_are_numbers_and_tokens_are_texts() -> None:
    for holder in (small(), small().model):
        for wrong, error in ((None, TypeError), ("1", TypeError), (1.0, TypeError), (-1, OverflowError)):
            with pytest.raises(error):
                holder.id_to_token(wrong)
        for other in (None, 1, b"a"):
            with pytest.raises(TypeError):
                holder.token_to_id(other)
        assert (holder.id_to_token(3), holder.token_to_id("ab")) == ("ab", 3)


def test_one_text_is_not_a_list_of_letters() -> None:
    for call in (small().add_tokens, small().add_special_tokens, decoders.WordPiece().decode, small().decode):
        with pytest.raises(TypeError, match="one text"):
            call("new")
    with pytest.raises(TypeError):
        small().decode_batch("1")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_length": -1}, OverflowError),
        ({"max_length": 5, "stride": -1}, OverflowError),
        ({"max_length": "5"}, TypeError),
        ({"max_length": 2.0}, TypeError),
        ({"max_length": 2, "stride": 3}, ValueError),
        ({"max_length": 0, "stride": 1}, ValueError),
    ],
)
def test_wrong_truncation_is_refused(options: Any, error: type[Exception]) -> None:
    tokenizer = small()
    with pytest.raises(error):
        tokenizer.enable_truncation(**options)
    assert tokenizer.truncation is None


def test_special_tokens_count_where_the_stride_is_checked() -> None:
    tokenizer = small()
    tokenizer.post_processor = processors.BertProcessing(("b", 2), ("a", 1))
    tokenizer.enable_truncation(3, stride=1)
    with pytest.raises(ValueError, match="effective max length of 1"):
        tokenizer.enable_truncation(3, stride=2)


def test_texts_remain_whole_if_special_tokens_alone_are_too_many() -> None:
    tokenizer = small()
    tokenizer.post_processor = processors.BertProcessing(("b", 2), ("a", 1))
    for length, ids in ((1, [1, 3, 3, 2]), (2, [1, 2]), (3, [1, 3, 2])):
        tokenizer.enable_truncation(length)
        assert tokenizer.encode("ab ab").ids == ids
        assert [each.ids for each in tokenizer.encode_batch(["ab ab"])] == [ids]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"length": -1}, OverflowError),
        ({"length": 2.0}, TypeError),
        ({"pad_id": -1}, OverflowError),
        ({"pad_id": 2**32}, OverflowError),
        ({"pad_id": "0"}, TypeError),
        ({"pad_type_id": -1}, OverflowError),
        ({"pad_token": None}, TypeError),
        ({"pad_to_multiple_of": -2}, OverflowError),
    ],
)
def test_wrong_padding_is_refused(options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        small().enable_padding(**options)
    if "length" not in options and "pad_to_multiple_of" not in options:
        with pytest.raises(error):
            small().encode("a").pad(8, **options)
    with pytest.raises(OverflowError):
        small().encode("a").pad(-1)
    with pytest.raises(OverflowError):
        small().encode("a").truncate(-1)


def test_former_and_unknown_options_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = small()
    tokenizer.enable_padding(max_length=3)
    assert tokenizer.encode("a").ids == [1, 0, 0]
    tokenizer.enable_truncation(2, other=1)
    AddedToken("x", other=1)
    trainers.WordPieceTrainer(max_token_length=2)
    reported = capsys.readouterr().out.splitlines()
    assert "deprecated" in reported[0]
    assert reported[1:] == [
        "Ignored unknown kwarg option other",
        "Ignored unknown kwarg option other",
        "Ignored unknown kwargs option max_token_length",
    ]


def test_implementations_take_the_size_and_padding_by_place() -> None:
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(["low lower lowest"] * 5, 260, show_progress=False)
    assert tokenizer.get_vocab_size() == 260
    tokenizer.enable_padding("right", 8)
    assert tokenizer.encode("low").ids[-1] == 0 and len(tokenizer.encode("low")) == 8
    with pytest.raises(TypeError, match="vocabsize"):
        tokenizer.train_from_iterator(["low"], vocabsize=260)
    with pytest.raises(TypeError):
        small().enable_padding("right")  # type: ignore[misc]


def test_wordpiece_has_no_largest_length() -> None:
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.train_from_iterator(["lower"] * 3, trainers.WordPieceTrainer(vocab_size=60, max_token_length=2))
    assert tokenizer.token_to_id("lower") is not None


FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


@pytest.mark.parametrize(
    "token",
    [
        {"id": 0},
        {"id": 0, "content": None},
        {"content": "<unk>"},
        {"id": -1, "content": "<unk>"},
        {"id": "0", "content": "<unk>"},
        {"id": 0, "content": "<unk>", "special": "yes"},
        "<unk>",
    ],
)
def test_damaged_added_tokens_are_refused(token: Any) -> None:
    damaged = {**FLAGS, **token} if isinstance(token, dict) else token
    with pytest.raises((ValueError, TypeError, OverflowError), match="added token"):
        opened(added_tokens=[damaged])


@pytest.mark.parametrize(
    "parts",
    [
        {"version": "2.0"},
        {"version": None},
        {"truncation": {"max_length": -2, "stride": 0, "strategy": "LongestFirst", "direction": "Right"}},
        {"truncation": {"max_length": 2, "stride": 0, "strategy": "X", "direction": "Right"}},
        {"truncation": {"max_length": 2, "stride": 0, "strategy": "LongestFirst", "direction": "X"}},
        {"padding": {"strategy": "X", "direction": "Left"}},
        {"padding": {"strategy": {"Fixed": -5}, "direction": "Left"}},
        {"padding": {"strategy": "BatchLongest", "direction": "X"}},
        {"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": False}},
        {"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", "1"], "cls": ["[CLS]", 2]}},
    ],
)
def test_parts_with_wrong_values_are_refused(parts: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        opened(**parts)


def test_unknown_keys_of_added_tokens_and_headers_of_merges_are_ignored() -> None:
    assert opened(added_tokens=[{"id": 0, "content": "<unk>", **FLAGS, "other": 1}]).encode("ab<unk>").ids == [3, 0]
    model = {**document()["model"], "merges": ["#version: 0.2", "a b"]}
    assert opened(model=model).encode("ab").ids == [3]


def test_missing_keys_are_written_in_the_order_of_the_package() -> None:
    model = document()["model"]
    expected = list(model)
    del model["ignore_merges"]
    assert list(json.loads(opened(model=model).to_str())["model"]) == expected


def test_ids_that_the_model_takes_from_added_tokens_are_refused() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0}, []))
    tokenizer.add_special_tokens(["<s>"])
    assert tokenizer.encode("a<s>").ids == [0, 1]
    tokenizer.model = models.BPE({"a": 0, "b": 1}, [])
    with pytest.raises(ValueError, match="'<s>' has the id 1.*then add tokens"):
        tokenizer.encode("a<s>")


def test_words_of_another_text_are_not_counted() -> None:
    encoding = small().encode("ab a", "b")
    assert encoding.word_to_tokens(0, 2) == (0, 1)
    assert encoding.word_to_tokens(0, 1) == (2, 3)


def test_the_last_of_equal_special_tokens_counts() -> None:
    processor = processors.TemplateProcessing("$A x", "$A $B", [("x", 1), ("x", 2)])
    tokenizer = small()
    tokenizer.post_processor = processor
    assert tokenizer.encode("a").ids == [1, 2]


def test_drawn_segmentations_are_refused() -> None:
    vocab = [("<unk>", 0.0), ("a", -1.0), ("b", -1.0), ("ab", -1.5)]
    for drawn in (models.Unigram(vocab, 0, alpha=0.1), models.Unigram(vocab, 0, alpha=0.1, nbest_size=3)):
        with pytest.raises(NotImplementedError, match="sample"):
            Tokenizer(drawn).encode("ab")
        with pytest.raises(NotImplementedError, match="sample"):
            drawn.tokenize("ab")
    for exact in (models.Unigram(vocab, 0, alpha=0.0), models.Unigram(vocab, 0, alpha=0.1, nbest_size=1)):
        assert Tokenizer(exact).encode("ab").tokens == ["ab"]
    tokenizer = Tokenizer(models.Unigram(vocab, 0))
    tokenizer.model.alpha = 0.1
    with pytest.raises(NotImplementedError):
        tokenizer.encode_batch(["ab"])
    tokenizer.model.alpha = None
    assert tokenizer.encode("ab").tokens == ["ab"]


def test_unigram_models_are_learned_from_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("low lower lowest\nnewest new\n" * 30)
    tokenizer = Tokenizer(models.Unigram())
    trainer = trainers.UnigramTrainer(vocab_size=30, show_progress=False, special_tokens=["<unk>"], unk_token="<unk>")
    tokenizer.train([str(tmp_path / "text")], trainer)
    assert "".join(tokenizer.encode("low new\nlow").tokens) == "low new\nlow"
    assert 0 not in tokenizer.encode("low new\nlow").ids


def test_a_number_is_no_buffer() -> None:
    with pytest.raises(TypeError):
        Tokenizer.from_buffer(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("made", [tools.EncodingVisualizer, tools.Annotation, trainers.ParityBpeTrainer])
def test_what_is_not_covered_names_what_covers_it(made: Any) -> None:
    with pytest.raises(NotImplementedError, match="is not supported; "):
        made()
    with pytest.raises(NotImplementedError, match="pre_tokenize_str"):
        trainers.BpeTrainer().get_word_count()
