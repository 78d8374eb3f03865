#!/usr/bin/env python3
"""Writes sentencepiece_char.model and sentencepiece_char_bytes.model, models of the type char that the library has trained, and sentencepiece_char.json: what the library makes of
lines with them. The first one has user-defined symbols, and the second one falls back to bytes.

  python3 make_sentencepiece_char_golden.py    # with sentencepiece 0.2.3
"""
import io
import json

import sentencepiece

from golden_lines import HERE, golden_lines

CORPUS = (HERE / "corpus.txt").read_text().splitlines()
LINES = ["the <x> river", "<x><x> the", "\u4f60\u597d river \u4f60", "  two  spaces ", "", "\ufb01ne \u2460", "a\u2581b", "e\u0301t\u00e9"]


def main() -> None:
    rows = {}
    for name, options in {"char": {"user_defined_symbols": ["<x>", "river"]}, "char_bytes": {"byte_fallback": True}}.items():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=model, model_type="char", vocab_size=1000, hard_vocab_limit=False,
                                                 minloglevel=2, normalization_rule_name="identity", **options)
        (HERE / f"sentencepiece_{name}.model").write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        lines = golden_lines(100) + LINES
        rows[name] = [{"text": line, "ids": processor.encode(line), "decoded": processor.decode(processor.encode(line))} for line in lines]
    (HERE / "sentencepiece_char.json").write_text(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main()
