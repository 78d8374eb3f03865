#!/usr/bin/env python3
"""Writes sentencepiece_bpe.json and the SentencePiece models of type BPE that it is about, those with more than plain pieces: user-defined symbols, unused pieces, control symbols, character
maps with awkward rules, spaces as suffixes, spaces that stay spaces. As make_unigram_golden.py: ids, offsets in bytes and decoded text.

  python3 make_sentencepiece_bpe_golden.py    # with sentencepiece 0.2.3 and protobuf
"""
import io
import random

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

import make_unigram_golden
from golden_lines import CORPUS, HERE, golden_lines

NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
SYMBOLS = ["<sep>", "river", "\u2581the", "e\u0301", "th", "<2de>", "  ", "a b", "\u00df"]
LINES = make_unigram_golden.LINES + [
    "the<2de>", "<2de> the river", " the", "the the", "  the", "a bab a  b", "a ba b", "stra\u00dfe \u00df", "   ", "a    b", "a     b", "other thethe brother", "he e\u0301 \u00e9",
    "<sep>  <sep>", " <sep>", "<sep> ", "\u2581<sep>", "<mask>the<mask>", "x<mask> \t y", "\u00a0\u2007\u202f", "a\u2003b\u2009c", "\u2581\u2581the", "the\u2581\u2581", "\u2655 \u2654 \u2655\u2655 a\u2655a", "\u2654", "\u2656a\u2656",
]
WIDE_RULES = {"\u3000": "  ", "\t": " ", "\u2581": "_", "\u2581t": "T", "\u00a0": "\u2581", "\u2026": " . . . ", "\u0001": "", "the": "  the  "}


def train(**options) -> sentencepiece_model_pb2.ModelProto:
    settings = dict(model_type="bpe", vocab_size=320, character_coverage=0.99, normalization_rule_name="identity") | options
    if "normalization_rule_tsv" in settings:
        del settings["normalization_rule_name"]
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS * 3), model_writer=buffer, minloglevel=2, **settings)
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(buffer.getvalue())
    return model


def with_types(model: sentencepiece_model_pb2.ModelProto, kind: int, share: float) -> sentencepiece_model_pb2.ModelProto:
    """Changes the type of some pieces of several characters, as tools that trim vocabularies do."""
    rng = random.Random(5)
    for piece in model.pieces:
        if piece.type == NORMAL and len(piece.piece) > 1 and rng.random() < share:
            piece.type = kind
    return model


def with_odd_characters(model: sentencepiece_model_pb2.ModelProto) -> sentencepiece_model_pb2.ModelProto:
    """A control symbol and an unused piece of one character each, which no other piece holds."""
    for text, kind in (("\u2654", CONTROL), ("\u2655", UNUSED), ("\u2656", USER_DEFINED)):
        for piece in model.pieces:
            assert text not in piece.piece, piece
        model.pieces.add(piece=text, score=-1000, type=kind)
    return model


def keeping_spaces(model: sentencepiece_model_pb2.ModelProto) -> sentencepiece_model_pb2.ModelProto:
    """Spaces are not escaped, so that the pieces hold them."""
    model.normalizer_spec.escape_whitespaces = False
    for piece in model.pieces:
        piece.piece = piece.piece.replace("\u2581", " ")
    return model


def main() -> None:
    rules = make_unigram_golden.rules_file()
    with open("wide.tsv", "w", encoding="utf-8") as out:
        for source, target in WIDE_RULES.items():
            out.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
    symbols = dict(user_defined_symbols=SYMBOLS, control_symbols=["<cls>", "<mask>"])
    keeps = dict(remove_extra_whitespaces=False)
    models = {
        "symbols": train(**symbols),
        "symbols_bytes": train(byte_fallback=True, vocab_size=560, **symbols, **keeps),
        "symbols_map": train(normalization_rule_tsv=rules, **symbols),
        "symbols_map_keeps_spaces": train(normalization_rule_tsv=rules, **symbols, **keeps),
        "symbols_apart": train(user_defined_symbols=["<sep>", "river", "e\u0301", "th"], add_dummy_prefix=False, **keeps),
        "wide_map": train(normalization_rule_tsv="wide.tsv"),
        "wide_map_keeps_spaces": train(normalization_rule_tsv="wide.tsv", **keeps),
        "suffix": train(treat_whitespace_as_suffix=True, byte_fallback=True, vocab_size=560),
        "suffix_keeps_spaces": train(treat_whitespace_as_suffix=True, **keeps),
        "unescaped": keeping_spaces(train(**keeps)),
        "unused": with_types(train(vocab_size=400), UNUSED, 0.3),
        "unused_bytes": with_odd_characters(with_types(train(byte_fallback=True, vocab_size=620, **keeps), UNUSED, 0.2)),
        "odd_types": with_odd_characters(with_types(train(user_defined_symbols=["<sep>"]), USER_DEFINED, 0.1)),
    }
    lines = golden_lines()[::5] + LINES
    sections = []
    for name, model in models.items():
        (HERE / f"sentencepiece_bpe_{name}.model").write_bytes(model.SerializeToString())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
        sections.append(f'"bpe_{name}":[\n{make_unigram_golden.rows(lines, processor)}\n]')
    (HERE / "sentencepiece_bpe.json").write_text("{" + ",\n".join(sections) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
