#!/usr/bin/env python3
"""Writes learned_spm_bpe.json: the pieces that SentencePiece's own trainer learns with --model_type=bpe from corpus.txt and the lines of the file, for several options.

  python3 make_learned_spm_bpe_golden.py    # with sentencepiece 0.2.3
"""
import io
import json

import sentencepiece

from golden_lines import CORPUS, HERE

LINES = ["abc123 123abc 2024 2025 42", "Жab abЖ жук жуки", "漢字かな 漢字 na漢", "x-y e.g.", "abc123 жук 漢字 the<sep>river"]
VARIANTS = {
    "plain": (300, {}),
    "mixed": (320, {"split_by_number": False, "split_by_unicode_script": False}),
    "digits": (300, {"split_digits": True}),
    "suffix": (310, {"treat_whitespace_as_suffix": True}),
    "bytes": (560, {"byte_fallback": True, "user_defined_symbols": ["the", "<sep>"]}),
    "short": (300, {"max_sentencepiece_length": 4}),
}


def main() -> None:
    variants = []
    for name, (size, options) in VARIANTS.items():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS + LINES), model_writer=model, minloglevel=2, model_type="bpe", vocab_size=size, character_coverage=1.0,
                                                 normalization_rule_name="identity", num_threads=1, **options)
        trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        variants.append({"name": name, "vocab_size": size, "options": options, "pieces": [trained.id_to_piece(i) for i in range(len(trained))]})
    (HERE / "learned_spm_bpe.json").write_text(json.dumps({"lines": LINES, "variants": variants}, ensure_ascii=False, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
