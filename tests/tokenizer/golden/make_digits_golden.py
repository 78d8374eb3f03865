#!/usr/bin/env python3
"""Writes digits.json: what Hugging Face tokenizers makes of digits.tokenizer.json, which was made by

  dragoman learn-bpe -i corpus.txt -o digits.tokenizer.json --no-escape --vocab-size 500 --split-digits --user-symbol '<ph>'

  python3 make_digits_golden.py    # with tokenizers 0.23.3
"""
import json
import pathlib
import random

from make_golden import NASTY, results

HERE = pathlib.Path(__file__).parent
NUMBERS = [
    "1", " 1", "1 ", "12", "1234567890", "a1", "1a", "a1b22c333", "3.14", "-5", "1,000,000", "20 000", "the1 2river", "<ph>1<ph>22 3",
    "\u0661\u0662\u0663", "\u0967\u0968", "\u00b2\u00b3", "x\u00b2", "\u00bd", "1\u00bd", "\u2167", "\u2460\u2461", "\u3007", "\u4e00\u4e8c\u4e09", "\uff11\uff12",
    "\U0001d7ce\U0001d7cf", "1\u0301", "\u25811", "1\u2581", "12\u2581\u258134", "9\t9", "<0x31>", "1</s>2",
]


def random_line(rng: random.Random) -> str:
    return "".join(rng.choice(["1", "23", "9", " ", "  ", "a", "the", "\u00e9", "\u00b2", ".", "<ph>", "\u0663", "river"]) for _ in range(rng.randint(1, 14)))


def main() -> None:
    rng = random.Random(11)
    rows = results("digits", NUMBERS + NASTY + [random_line(rng) for _ in range(150)])["rows"]
    with open(HERE / "digits.json", "w", encoding="utf-8") as out:
        out.write("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
