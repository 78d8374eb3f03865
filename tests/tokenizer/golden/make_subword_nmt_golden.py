#!/usr/bin/env python3
"""Writes subword_nmt.json and the codes and vocabulary files that it is about: what subword-nmt 0.3.8 makes of golden_lines.py.

  python3 make_subword_nmt_golden.py    # with subword-nmt 0.3.8
"""
import io
import json
import random

from golden_lines import CORPUS, HERE, golden_lines
from subword_nmt.apply_bpe import BPE, read_vocabulary
from subword_nmt.learn_bpe import learn_bpe


def learned_codes(merges: int) -> str:
    out = io.StringIO()
    learn_bpe(CORPUS, out, merges, min_frequency=2)
    return out.getvalue()


def separate_end_of_word(codes: str) -> str:
    """The same merges as version 0.1 learns them: the end of a word is a symbol, which merges like any other."""
    lines = ["#version: 0.1"]
    seen = set()
    for line in codes.splitlines()[1:]:
        left, right = line.split(" ")
        if right.endswith("</w>") and right != "</w>" and right not in seen:
            seen.add(right)
            if len(right) == 5:
                lines.append(f"{right[0]} </w>")
        lines.append(line)
    return "\n".join(lines) + "\n"


def with_counts(codes: str) -> str:
    """As fastBPE writes them."""
    return "".join(f"{line} {1000 - i}\n" for i, line in enumerate(codes.splitlines()[1:]))


def improper(codes: str) -> str:
    """Merges in an order in which no learner finds them, with repetitions and with pieces that are made in two ways."""
    lines = codes.splitlines()[1:]
    random.Random(3).shuffle(lines)
    extra = ["aa a", "a aa", "a a", "b aa", "aab a", "aa b", "ab ab", "a b", "b a", "ba b", "abab a", "t he</w>", "t he", "th e", "th e</w>", "h e"]
    return "#version: 0.2\n" + "\n".join(extra + lines + extra[:3] + lines[:5]) + "\n"


def piece_counts(codes: str) -> str:
    counts: dict[str, int] = {}
    bpe = BPE(io.StringIO(codes))
    for line in CORPUS:
        for piece in bpe.process_line(line).split():
            counts[piece] = counts.get(piece, 0) + 1
    return "".join(f"{piece} {count}\n" for piece, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def main() -> None:
    codes = learned_codes(350)
    files = {"codes02": codes, "codes01": separate_end_of_word(codes), "improper": improper(codes)}
    for name, text in files.items():
        (HERE / f"subword_nmt.{name}").write_text(text, encoding="utf-8")
    (HERE / "fastbpe.codes").write_text(with_counts(codes), encoding="utf-8")
    (HERE / "subword_nmt.vocabulary").write_text(piece_counts(codes), encoding="utf-8")
    vocabulary = (HERE / "subword_nmt.vocabulary").read_text(encoding="utf-8").splitlines()
    cases = [(name, text, "@@", None) for name, text in files.items()]
    cases += [("codes02", codes, "\uffed", None), ("codes02", codes, "@@", 1), ("codes02", codes, "@@", 5), ("improper", files["improper"], "@@", 3)]
    lines = golden_lines()
    results = []
    for name, text, separator, threshold in cases:
        words = read_vocabulary(vocabulary, threshold) if threshold else None
        bpe = BPE(io.StringIO(text), separator=separator, vocab=words)
        results.append({"codes": name, "separator": separator, "threshold": threshold or 0, "lines": [bpe.process_line(line) for line in lines]})
    with open(HERE / "subword_nmt.json", "w", encoding="utf-8") as out:
        out.write('{"lines":%s,\n"cases":[\n%s\n]}\n' % (json.dumps(lines), ",\n".join(json.dumps(result) for result in results)))


if __name__ == "__main__":
    main()
