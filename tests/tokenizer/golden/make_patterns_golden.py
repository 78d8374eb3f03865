#!/usr/bin/env python3
"""Writes patterns.json: what Hugging Face tokenizers makes of tokenizer files with protected patterns and cuts at changes of case, and which
characters \\w, \\s and \\d match there. Writes patterns_corpus.txt, too, from which the files were learned:

  dragoman learn-bpe -i corpus.txt patterns_corpus.txt -o patterns.tokenizer.json --no-escape --vocab-size 600 --user-symbol '<ph>' --split-case \\
      --protect '<x id=\\d+>' 'https?://\\S+' '[\\w.+-]+@[\\w-]+(?:\\.[\\w-]+)+' '[-+]?\\d+(?:[.,]\\d+)*\\b' '\\p{S} ?[^\\S\\t]?' '_[^_ ]{1,4}?_'
  dragoman learn-bpe -i corpus.txt patterns_corpus.txt -o patterns_in_words.tokenizer.json --no-escape --vocab-size 500 --normalization nfkc --split-digits \\
      --protect '(?<!\\w)[A-Z]{2,5}\\d*(?!\\w)' '\\p{Han}+' '(?<=[a-z])-(?=[a-z])|[#@][^\\W\\d]\\w*'
  dragoman learn-bpe -i corpus.txt patterns_corpus.txt -o case.tokenizer.json --no-escape --vocab-size 520 --split-case

  python3 make_patterns_golden.py    # with tokenizers 0.23.3
"""
import json
import random

from golden_lines import HERE, NASTY
from make_golden import results
from tokenizers import Regex, pre_tokenizers

FRAGMENTS = [
    "<x id=1>", "<x id=22>", "<x id=>", "<x  id=1>", "https://a.b/c?d=e", "http://", "ftp://x", "me@here.org", "first.last+tag@mail.example.com", "@home", "#tagged", "#1",
    "3.14", "-5", "+1,000,000", "1.", "12a", "a12", "2024-01-02", "camelCase", "HTTPServer", "getURLForID", "iPhone", "McDonald", "\u00e9\u00c9cole", "\u0430\u0411",
    "\u01c5x\u01c5", "well-known", "NATO", "A4", "ABCDEFG", "\u6f22\u5b57", "\u65e5\u672c\u8a9e", "\u3007", "=", "= =", "+", "\u20ac5", "$ 5", "\u2581", "_abc_", "_abcde_", "__",
    "<ph>", "<", ">", "\t", ".", "the", "river", "\u00b2", "\u0661\u0662", "x", "X", "\u2028", "\u00a0", "\U0001F600", "e\u0301", "\u24b6", "\u200d",
]


def random_line(rng: random.Random) -> str:
    return "".join(rng.choice(FRAGMENTS) + rng.choice(["", "", " ", " ", "  "]) for _ in range(rng.randint(1, 9)))


def corpus() -> str:
    rng = random.Random(5)
    return "".join(random_line(rng).replace("\u2028", "") + "\n" for _ in range(120))


def ranges(members: list[int]) -> list[list[int]]:
    out: list[list[int]] = []
    for code_point in members:
        if out and out[-1][1] == code_point - 1:
            out[-1][1] = code_point
        else:
            out.append([code_point, code_point])
    return out


def code_points() -> list[int]:
    return [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def oniguruma_class(expression: str) -> list[list[int]]:
    split = pre_tokenizers.Split(Regex(expression), "removed")
    return ranges([c for c in code_points() if not split.pre_tokenize_str(chr(c))])


def main() -> None:
    (HERE / "patterns_corpus.txt").write_text(corpus(), encoding="utf-8")
    rng = random.Random(12)
    lines = FRAGMENTS + NASTY + [random_line(rng) for _ in range(200)]
    files = [results(name, lines) for name in ("patterns", "patterns_in_words", "case") if (HERE / f"{name}.tokenizer.json").exists()]
    classes = {"tokenizers": {e: oniguruma_class(e) for e in ["\\w", "\\s", "\\d", "[\\w]", "\\W", "\\p{S}", "\\p{Ll}", "\\p{Zs}", "\\p{Han}", "\\p{Greek}", "."]}}
    with open(HERE / "patterns.json", "w", encoding="utf-8") as out:
        rows = ",\n".join(json.dumps(entry, separators=(",", ":")).replace('{"text"', '\n{"text"') for entry in files)
        out.write('{"files":[\n%s\n],\n"classes":%s}\n' % (rows, json.dumps(classes, separators=(",", ":")).replace('],"', '],\n"')))


if __name__ == "__main__":
    main()
