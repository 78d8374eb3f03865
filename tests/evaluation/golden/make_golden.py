"""Writes expected.json: what sacreBLEU says of the texts in this folder.

    pip install sacrebleu==2.6.0 && python make_golden.py

The texts are our own: every line is there for a rule of a tokenizer, an edge of a formula, or a script.
"""
import itertools
import json
import logging
import pathlib
import random
import string

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.bleu import _get_tokenizer

FOLDER = pathlib.Path(__file__).parent
METRICS = {"bleu": BLEU, "chrf": CHRF, "ter": TER}


def read(name):
    with open(FOLDER / name, encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n") for line in file]


HYPOTHESES = read("hypothesis.txt")
REFERENCES = [read("reference.0.txt"), read("reference.1.txt")]


def grid(**choices):
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


def options():
    smoothing = [("exp", None), ("none", None), ("floor", None), ("floor", 0.25), ("add-k", None), ("add-k", 0.5)]
    for option in grid(tokenize=["13a", "intl", "char", "none"], smoothing=smoothing, lowercase=[False, True]):
        method, value = option.pop("smoothing")
        yield "bleu", option | {"smooth_method": method} | ({} if value is None else {"smooth_value": value})
    for lowercase in [False, True]:
        yield "bleu", {"tokenize": "zh", "lowercase": lowercase}
    for order in [1, 2, 6]:
        yield "bleu", {"max_ngram_order": order, "effective_order": True}
    for option in grid(lowercase=[False, True], whitespace=[False, True], eps_smoothing=[False, True]):
        yield "chrf", option
        yield "chrf", option | {"word_order": 2}
    yield "chrf", {"char_order": 3, "word_order": 1, "beta": 1}
    yield "chrf", {"char_order": 0, "word_order": 2, "beta": 3}
    for option in grid(normalized=[False, True], no_punct=[False, True], asian_support=[False, True],
                       case_sensitive=[False, True]):
        yield "ter", option


def corpus_case(metric_name, option, references):
    metric = METRICS[metric_name](**option)
    score = metric.corpus_score(HYPOTHESES, references)
    signature = metric.get_signature().format()
    return {"metric": metric_name, "options": option, "references": len(references), "value": score.score,
            "text": [score.format(width, False, signature) for width in (1, 2, 6)]}


def segment_case(metric_name, option, references):
    """Counts of every segment, and the score of every segment by itself."""
    metric = METRICS[metric_name](**option)
    counts = metric._extract_corpus_statistics(HYPOTHESES, references)
    scores = [metric.sentence_score(hypothesis, list(of_segment)).score
              for hypothesis, *of_segment in zip(HYPOTHESES, *references)]
    return {"metric": metric_name, "options": option, "references": len(references), "counts": counts,
            "scores": [float(f"{score:.10g}") for score in scores]}


def edge_case(metric_name, option, hypotheses, references):
    metric = METRICS[metric_name](**option)
    score = metric.corpus_score(hypotheses, references)
    return {"metric": metric_name, "options": option, "hypotheses": hypotheses, "streams": references, "value": score.score,
            "text": [score.format(2, False, metric.get_signature().format())]}


def edge_texts():
    yield [""], [[""]]
    yield ["", ""], [["", ""], ["", ""]]
    yield [""], [["one two three"]]
    yield ["one two three"], [[""]]
    yield ["one"], [["one"]]
    yield ["one"], [["two"]]
    yield ["a b c d e"], [["e d c b a"]]
    yield ["a b c x d e f"], [["a b c y d e f"]]
    yield ["the longer hypothesis of the two by far"], [["the two"]]
    yield ["one two three four five"], [["one two three four five"]]
    yield ["first line\nsecond-\nline"], [["first line second line"]]
    yield ["x " * 200], [["x y " * 10]]
    yield ["a " + "b " * 120], [["b " * 100 + "a"]]
    yield [" ".join(f"w{i * 7 % 61}" for i in range(150))], [[" ".join(f"w{i * 11 % 67}" for i in range(130))]]
    yield [" ".join(f"w{i}" for i in range(3))], [[" ".join(f"w{i % 40}" for i in range(180))]]
    yield ["a ,,1 b &amp;lt;"], [["a ,,1 b &amp;lt;"]]
    yield [" ".join(f"x{mark}y{mark}1{mark}2" for mark in string.punctuation)], [[" x y 1 2 ".join(string.punctuation)]]
    yield ["一二㇀㇁⺀⺁㌀㌁豈更︰︱㈠㈡㐀㐁、。「」【】〔〟｡･・．，？：；！＂（）"], [["一 二 ㇀ ㇁ ⺀ ⺁ ㌀ ㌁ 豈 更 ︰ ︱ ㈠ ㈡ 㐀 㐁 、 。 「 」"]]


def words(letter, count):
    return [f"{letter}{i}" for i in range(count)]


def shift_texts():
    """Segments on either side of each limit of TER's search: beam, longest and farthest shift, number of candidates; then many in which
    shifts compete."""
    pairs = [(words("x", n) + words("w", 60), words("w", 60) + words("y", n)) for n in range(23, 28)]
    pairs += [(reference, hypothesis) for hypothesis, reference in pairs]
    pairs += [(words("a", n) + words("w", 30), words("w", 30) + words("a", n)) for n in range(9, 13)]
    pairs += [(["a", *words("w", 60), "z"], [*words("w", n), "a", *words("v", 60 - n), "z"]) for n in range(48, 54)]
    pairs += [("abababbbbaabbbbbaaaabb", "bbbbbbabbaaabaaaabbaab"), ("abbbaaaaaabbaaabbabbbba", "aababbababbbabaaaabaaaa"),
              ("bbbababaabbaabaabaababa", "aabaabbbabaabbabbabbaaa"), ("aaabaaaabaaabaabbbaaabbba", "babbbaaaaabababaaabaabaaa")]
    random.seed(1)
    for length, kinds in [(6, 3), (10, 4), (14, 5), (20, 8)] * 25:
        pairs.append(tuple([random.choice("abcdefgh"[:kinds]) for _ in range(length)] for _ in range(2)))
    hypotheses, references = zip(*pairs)
    return [" ".join(text) for text in hypotheses], [[" ".join(text) for text in references]]


# Ends of lines, where no space pads them; and characters on either side of each limit of the ranges, among which are
# strange ones: Python reads "\u20000" as two characters.
ZH_LINES = ([".5 5. 5", ",a a,", "5-", "-5 5-6", "中.", ".中", "3,5公斤", "“引用”—……", "a\u2000b\u2001c", "1→2 ∑ ∞", "\U00020000\U0002a6d6字", "全角，。！", "①㈠㌀☀✂", " \u3000 前后 \u3000"]
            + ["x" + chr(c) + "y" for limit in (0x3400, 0x4db5, 0x4e00, 0x9fa5, 0x9fbb, 0xf900, 0xfa2d, 0xfa30, 0xfa6a, 0xfa70, 0xfad9, 0x2000, 0x2a6d, 0x2f80,
                                                0x2fa1, 0xff00, 0xffef, 0x2e80, 0x2eff, 0x3000, 0x303f, 0x31c0, 0x31ef, 0x2f00, 0x2fdf, 0x2ff0, 0x2fff, 0x3100,
                                                0x312f, 0x31a0, 0x31bf, 0xfe10, 0xfe1f, 0xfe30, 0xfe4f, 0x3200, 0x33ff) for c in (limit - 1, limit, limit + 1)])


def tokenize_as(name, line):
    return _get_tokenizer(name)()(line.rstrip()).split()


def tokens(name):
    tokenizer = _get_tokenizer(name)()
    return [tokenizer(line.rstrip()).split() for stream in [HYPOTHESES, *REFERENCES] for line in stream]


def confidence_case(values):
    score = sacrebleu.metrics.base.Score("X", 0.0)
    score.estimate_ci([sacrebleu.metrics.base.Score("X", value) for value in values])
    return {"values": values, "mean": float(score._mean), "half_width": float(score._ci)}


def bootstrap_case(metric_name, samples):
    metric = METRICS[metric_name]()
    score = metric.corpus_score(HYPOTHESES, REFERENCES[:1], n_bootstrap=samples)
    return {"metric": metric_name, "samples": samples, "mean": float(score._mean), "half_width": float(score._ci),
            "signature": metric.get_signature().format()}


def main():
    logging.disable(logging.CRITICAL)
    sections = {
        "corpus": [corpus_case(name, option, REFERENCES[:count]) for name, option in options() for count in (1, 2)],
        "segments": [segment_case(name, option, REFERENCES[:count]) for count in (1, 2)
                     for name, option in [("bleu", {"effective_order": True}), ("bleu", {"tokenize": "char", "lowercase": True}),
                                          ("chrf", {"word_order": 2}), ("chrf", {"eps_smoothing": True, "lowercase": True}),
                                          ("ter", {}), ("ter", {"normalized": True, "asian_support": True})]],
        "edges": [edge_case(name, option, *texts) for texts in edge_texts()
                  for name, option in [("bleu", {}), ("bleu", {"effective_order": True}), ("chrf", {}), ("chrf", {"word_order": 2}),
                                       ("chrf", {"eps_smoothing": True}), ("ter", {}), ("ter", {"normalized": True}),
                                       ("ter", {"normalized": True, "asian_support": True})]],
        "shifts": [{"hypotheses": hypotheses, "streams": references, "counts": TER()._extract_corpus_statistics(hypotheses, references)}
                   for hypotheses, references in [shift_texts()]],
        "tokens": [{"tokenizer": name, "lines": tokens(name)} for name in ("13a", "intl", "char", "none", "zh")],
        "zh": [[line, tokenize_as("zh", line)] for line in ZH_LINES],
        "confidence": [confidence_case([float(i * i % 83) / 3 for i in range(n)]) for n in (2, 39, 40, 41, 100)],
        "bootstrap": [bootstrap_case(name, 4000) for name in METRICS],
    }
    with open(FOLDER / "expected.json", "w", encoding="utf-8") as file:
        def dump(value):
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        body = [f"{dump(name)}: [\n" + ",\n".join(map(dump, cases)) + "\n]" for name, cases in sections.items()]
        file.write("{" + f'"sacrebleu": "{sacrebleu.__version__}",\n' + ",\n".join(body) + "}\n")


main()
