#!/usr/bin/env python3
"""Writes n_best.json: the five best segmentations that the SentencePiece library finds with unigram models, and their scores.

  python3 make_n_best_golden.py    # with sentencepiece 0.2.3
"""
import json

import sentencepiece

from golden_lines import HERE, golden_lines


def main() -> None:
    found = {}
    for name in ("sentencepiece_unigram_plain.model", "sentencepiece_unigram_bytes.model", "learned_unigram_plain.model"):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(HERE / name))
        rows = []
        for line in golden_lines(150):
            if len(line) > 40 or not line.strip():
                continue
            proto = processor.nbest_encode(line, nbest_size=5, return_type="proto")
            rows.append({"text": line, "ids": [[piece.id for piece in each.pieces] for each in proto.nbests], "scores": [each.score for each in proto.nbests]})
        found[name] = rows
    (HERE / "n_best.json").write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")).replace('{"text"', '\n{"text"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
