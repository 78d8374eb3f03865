#!/usr/bin/env python3
"""Writes glossaries.json: what subword-nmt 0.3.8 makes of lines with --glossaries, for the codes that make_subword_nmt_golden.py wrote.

  python3 make_glossaries_golden.py    # with subword-nmt 0.3.8
"""
import io
import json
import random

from golden_lines import CORPUS, HERE, NASTY
from subword_nmt.apply_bpe import BPE, read_vocabulary

FRAGMENTS = [
    "USA", "1934", "river", "riverbank", "bank", "the", "there", "other", "<x id=1>", "<ph>", "{ph}", "{1}", "a|b", "interpreter", "int", "@@", "@@a", "NATO", "Aa", "aaa", "b",
    "x@y.z", "\u6f22\u5b57", "\u00e9", "\u00b2", "_", "'", ".", "3.14", "e\u0301", "\u2581", "</w>", "\U0001F600",
]
CASES = [
    (["USA"], "codes02", "@@", None),
    (["USA", "1934", "the"], "codes02", "@@", None),
    (["river", "riverbank|bank", "ri"], "codes02", "@@", None),
    (["riverbank", "river", "bank", "k"], "codes02", "@@", None),
    ([r"\d+", r"<[^>]*>", r"[A-Z]{2,}"], "codes02", "@@", None),
    (["^the", "er$", r"\bint\w*", r"\.$|^'"], "codes02", "@@", None),
    (["a|b"], "codes02", "@@", None),
    (["a|b", "b|c|er"], "codes02", "@@", None),
    ([r"t.*?e", r"(?:an|in)+"], "codes02", "@@", None),
    ([r"\w+@\w+", "@@", r"@+"], "codes02", "@@", None),
    ([r"\{1\}", "{ph}", r"(?<=\d)\.(?=\d)", r"\W"], "codes02", "@@", None),
    ([r"(?<!\w)t\w+", r"\Bi\B", r"\A\S\Z"], "codes02", "\uffed", None),
    (["the", r"\d", "er"], "codes02", "@@", 1),
    (["the", r"\d", "er", "<ph>"], "codes02", "@@", 5),
    (["riv", r"\d", "int"], "codes02", "@@", 50),
    (["the", r"[a-c]+", r"\d+"], "codes01", "@@", None),
    (["ab", r"\d+", "th"], "improper", "@@", None),
    (["ab", r"\d+", "th"], "improper", "@@", 3),
]


def lines() -> list[str]:
    rng = random.Random(9)
    mixed = ["".join(rng.choice(FRAGMENTS) + rng.choice(["", "", "", " ", "  "]) for _ in range(rng.randint(1, 8))) for _ in range(150)]
    return FRAGMENTS + NASTY + CORPUS[:20] + mixed


def main() -> None:
    vocabulary = (HERE / "subword_nmt.vocabulary").read_text(encoding="utf-8").splitlines()
    texts = lines()
    results = []
    for glossaries, name, separator, threshold in CASES:
        words = read_vocabulary(vocabulary, threshold) if threshold else None
        codes = io.StringIO((HERE / f"subword_nmt.{name}").read_text(encoding="utf-8"))
        bpe = BPE(codes, separator=separator, vocab=words, glossaries=glossaries)
        results.append({"glossaries": glossaries, "codes": name, "separator": separator, "threshold": threshold or 0, "lines": [bpe.process_line(line) for line in texts]})
    with open(HERE / "glossaries.json", "w", encoding="utf-8") as out:
        out.write('{"lines":%s,\n"cases":[\n%s\n]}\n' % (json.dumps(texts), ",\n".join(json.dumps(result) for result in results)))


if __name__ == "__main__":
    main()
