#!/usr/bin/env python3
"""Writes learned_codes.json: the codes that subword-nmt learns from corpus.txt and from small texts that are hard for its counts.

  python3 make_codes_golden.py    # with subword-nmt 0.3.8
"""
import io
import json
import pathlib
import random

from subword_nmt.learn_bpe import get_vocabulary, learn_bpe

HERE = pathlib.Path(__file__).parent


def codes_of(text: str, merges: int, min_frequency: int) -> list[str]:
    codes = io.StringIO()
    learn_bpe(io.StringIO(text), codes, merges, min_frequency)
    return codes.getvalue().splitlines()[1:]


def main() -> None:
    rng = random.Random(34)
    # Runs of one letter, whose pairs overlap, and a no-break space, which subword-nmt takes for the end of a symbol.
    hard = [" ".join("".join(rng.choice(letters) for _ in range(rng.randint(1, 9))) for _ in range(60)) for letters in ("a", "ab", "aab.", "ab\u00a0", "\u00e9\u4e2da")]
    cases = [(text, 40, 1) for text in hard] + [((HERE / "corpus.txt").read_text(encoding="utf-8"), 400, 2)]
    rows = []
    for text, merges, least in cases:
        counts = get_vocabulary(io.StringIO(text))
        rows.append({"words": sorted(counts.items()), "merges": merges, "min_frequency": least, "codes": codes_of(text, merges, least)})
    (HERE / "learned_codes.json").write_text(json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


main()
