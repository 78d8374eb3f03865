#!/usr/bin/env python3
"""Writes unigram.json and the SentencePiece models that it is about, unigram models and models with a character map: the ids, the offsets in bytes and the
decoded text that the library gives for golden_lines.py and for lines that only such models treat specially.

  python3 make_unigram_golden.py    # with sentencepiece 0.2.3 and protobuf
"""
import io
import json
import os
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from golden_lines import CORPUS, HERE, golden_lines

# Source and result of each rule, in the library's own form of code points in hexadecimal. A full NFKC map would fill 240 kB.
RULES = {"\ufb01": "fi", "\uff21": "A", "\uff22": "B", "\u3000": " ", "\t": " ", "\u0001": "", "\u00ad": "", "e\u0301": "\u00e9", "E\u0301": "\u00c9", "\u2026": "...",
         "\u00bd": "1\u20442", "A\u030a": "\u00c5", "A": "a", "the ": "THE ", "\u00a0": " ", "\u2581": " "}
LINES = ["\ufb01ne o\ufb01ce", "\uff21\uff22\uff21 \uff22", "\u3000\u3000a\u3000\u3000b\u3000", "\u0001", "\u0001\u0001 a", " \u0001 a", "a \u0001 b", "a\u00ad", "\u00ad \u00ad", "e\u0301te\u0301",
         "E\u0301 A\u030a A \u00bd\u2026", "the the the the", "the the  ", "<sep>", "a<sep>b", " <sep> <sep>", "<sep><sep> the<sep>", "<sep>e\u0301", "river", "xriverx", "\u2581river", "the\u2581river",
         "\u2581the river", "<cls> is <sep>", "\t<sep>\t", "<se<sep>p>", "abcbab cccc ccccc abab", "eeeee eeeeeeee rrrrrr", "aaa  a aab the the"]


def rules_file() -> str:
    """In a folder of its own under a fixed name, which the library writes into the model."""
    os.chdir(tempfile.mkdtemp())
    with open("rules.tsv", "w", encoding="utf-8") as out:
        for source, target in RULES.items():
            out.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
    return "rules.tsv"


def rows(lines: list[str], processor: sentencepiece.SentencePieceProcessor) -> str:
    entries = []
    for line in lines:
        proto = processor.encode(line.encode("utf-8"), return_type="proto")
        row = {"text": line, "ids": [piece.id for piece in proto.pieces], "ranges": [[piece.begin, piece.end] for piece in proto.pieces]}
        assert row["ids"] == processor.encode(line)
        row["decoded"] = processor.decode(row["ids"])
        entries.append(json.dumps(row, separators=(",", ":"), ensure_ascii=False))
    return ",\n".join(entries)


def symbols_against_pieces() -> bytes:
    """A model that no training gives: pieces with positive scores, ties, unused pieces, and symbols that compete with all of them."""
    model = sentencepiece_model_pb2.ModelProto()
    pieces = [("<unk>", 0, 2), ("<s>", 0, 3), ("\u2581", -1, 1), ("a", 3, 1), ("b", -4, 1), ("ab", 4, 4), ("aba", -1, 4), ("bc", 1, 1), ("cb", -3, 4), ("c", 0.15, 1), ("cc", 0.5, 5),
              ("ccc", 0.3, 1), ("e", 0, 1), ("ee", 0.1, 1), ("eee", 0.2, 1), ("eeee", 1, 4), ("\u2581a", 1, 4), ("\u2581aa", -1, 1), ("r", -1, 1), ("rr", -2, 1), ("rrr", -3, 1), ("th", 0.1, 1),
              ("the", 0, 4), ("the\u2581", 0.2, 1)]
    for text, score, kind in pieces:
        model.pieces.add(piece=text, score=score, type=kind)
    model.trainer_spec.model_type = 1
    model.normalizer_spec.name = "identity"
    return model.SerializeToString()


def main() -> None:
    lines = golden_lines(150) + LINES
    identity = dict(normalization_rule_name="identity")
    mapped = dict(normalization_rule_tsv=rules_file())
    symbols = dict(user_defined_symbols=["<sep>", "river", "\u2581the", "e\u0301"], control_symbols=["<cls>"])
    variants = {
        "plain": identity,
        "bytes": identity | dict(byte_fallback=True, remove_extra_whitespaces=False, vocab_size=540),
        "no_prefix": identity | dict(add_dummy_prefix=False, split_by_whitespace=False),
        "suffix": identity | dict(treat_whitespace_as_suffix=True, unk_surface="?"),
        "symbols": mapped | symbols | dict(remove_extra_whitespaces=False),
        "map": mapped | dict(split_by_unicode_script=False),
        "bpe_map": mapped | dict(model_type="bpe"),
        "bpe_map_keeps_spaces": mapped | dict(model_type="bpe", remove_extra_whitespaces=False, byte_fallback=True, vocab_size=540),
        "bpe_map_no_prefix": mapped | dict(model_type="bpe", add_dummy_prefix=False),
    }
    models = {"unigram_scores": symbols_against_pieces()}
    for name, options in variants.items():
        model = io.BytesIO()
        settings = dict(model_type="unigram", vocab_size=300, character_coverage=0.99) | options
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS * 3), model_writer=model, minloglevel=2, **settings)
        models[name if name.startswith("bpe") else "unigram_" + name] = model.getvalue()
    sections = []
    for name, model in models.items():
        (HERE / f"sentencepiece_{name}.model").write_bytes(model)
        sections.append(f'"{name}":[\n{rows(lines, sentencepiece.SentencePieceProcessor(model_proto=model))}\n]')
    (HERE / "unigram.json").write_text("{" + ",\n".join(sections) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
