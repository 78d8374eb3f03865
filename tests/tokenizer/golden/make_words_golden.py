#!/usr/bin/env python3
"""Writes escapes.json, punctuation.json, punctuation_and_all.json and no_word_marks.json: what Hugging Face tokenizers makes of the tokenizer files beside them,
which were made by

  dragoman learn-bpe -i corpus.txt -o escapes.tokenizer.json --vocab-size 520 --special '<unk>' '<s>' '</s>' '♪' t \\
      --user-symbol '<ph>' '␣'
  dragoman learn-bpe -i corpus.txt patterns_corpus.txt -o punctuation.tokenizer.json --vocab-size 560 --split-punctuation --user-symbol '<ph>'
  dragoman learn-bpe -i corpus.txt patterns_corpus.txt -o punctuation_and_all.tokenizer.json --vocab-size 560 --split-punctuation \\
      --split-digits --split-case --normalization nfc --protect '\\d+[.,]\\d+' '\\S+@\\S+'
  dragoman learn-bpe -i corpus.txt -o no_word_marks.tokenizer.json --vocab-size 480 --no-word-marks --user-symbol '<ph>'

  python3 make_words_golden.py    # with tokenizers 0.23.3
"""
import json
import pathlib
import random

from make_golden import NASTY, results

HERE = pathlib.Path(__file__).parent
PARTS = ["a", "the", "River", "\u00e9", " ", "  ", ".", ",", "(", ")", "'", "-", "\u2019", "\u2026", "1", "23", "\u00b2", "\u0663", "\u4e00", "\u3002", "\u0301", "\u0903",
         "\u094d", "\u0928", "\u20e3", "\ufe0f", "\U0001f600", "\u2581", "\u241b", "\u2423", "\u241a", "\u2400", "\u2401", "\u266a", "t", "<ph>", "@", "_", "$", "\u20ac", "\t"]
LINES = ["en.", "don't", "(x)", "\u201eJa!\u201c", "end...", "3.14", "1,000", "a1b2", "1\u0301", "a\u0301b", "\u0301a", ".\u0301a", "\u0928\u092e\u0938\u094d\u0924\u0947", "1\ufe0f\u20e32",
         "\u266a la la \u266a", "\u266a", "\u2581\u266a\u241b", "\u241b\u2423", "\u241b\u241b\u2423\u241a", "\u241b\u2400 \u241b", "t", "\u2423 x", "\u2581 x", "a \u2581 b", "x@y.z, 3,5x"]


def main() -> None:
    for name in ("escapes", "punctuation", "punctuation_and_all", "no_word_marks"):
        rng = random.Random(13)
        lines = LINES + NASTY + ["".join(rng.choice(PARTS) for _ in range(rng.randint(1, 14))) for _ in range(200)]
        rows = results(name, lines)["rows"]
        with open(HERE / f"{name}.json", "w", encoding="utf-8") as out:
            out.write("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
