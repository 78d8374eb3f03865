#!/usr/bin/env python3
"""Writes spm_vocabulary.tsv, pieces with counts as `spm_encode --generate_vocabulary` writes them, and spm_vocabulary.json: the ids of the SentencePiece library when models are
restricted to it, for thresholds. (The module of 0.2.3 has no call for it any more; `spm_encode --vocabulary` does the same.)

  python3 make_spm_vocabulary_golden.py    # with sentencepiece 0.2.0
"""
import json
import random

import sentencepiece

from golden_lines import HERE, golden_lines

LINES = [line for line in golden_lines(150)[::3] if "\0" not in line]
MODELS = ["plain", "bytes", "bpe_symbols", "bpe_unused", "unigram_plain", "unigram_bytes", "unigram_symbols"]


def main() -> None:
    rng = random.Random(11)
    path = HERE / "spm_vocabulary.tsv"
    pieces = {}
    for name in MODELS:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(HERE / f"sentencepiece_{name}.model"))
        for id in range(processor.get_piece_size()):
            if rng.random() < 0.6 and not processor.is_byte(id) and not processor.is_control(id):
                pieces.setdefault(processor.id_to_piece(id), rng.randint(1, 99))
    path.write_text("".join(f"{piece}\t{count}\n" for piece, count in pieces.items()) + "alone\n")
    cases = []
    for name in MODELS:
        for threshold in (0, 50):
            processor = sentencepiece.SentencePieceProcessor(model_file=str(HERE / f"sentencepiece_{name}.model"))
            processor.LoadVocabulary(str(path), threshold)
            cases.append({"model": name, "threshold": threshold, "rows": [{"text": line, "ids": processor.encode(line)} for line in LINES]})
    (HERE / "spm_vocabulary.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
