#!/usr/bin/env python3
"""Sentence scores of texts against each other and their means, as sacreBLEU has them: writes mbr.json.

    python3 -m venv venv && venv/bin/pip install sacrebleu==2.6.0
    venv/bin/python tests/pipeline/golden/make_mbr_golden.py > tests/pipeline/golden/mbr.json
"""
import json

from sacrebleu.metrics import BLEU, CHRF

LISTS = [
    [
        "A man in a hat is riding a bicycle through the city.",
        "A man with a hat rides a bike through the city.",
        "A man wearing a hat is riding his bicycle through town.",
        "A man in a hat is riding a bicycle through the city.",
        "The man rides.",
        "Two dogs play in the snow.",
    ],
    ["ok", "", "ok.", "o k", "Ok"],
    ["Ein Hund läuft.", "Ein Hund rennt am Strand.", "Hunde laufen am Strand", "Зима пришла.", "日本 の 冬", "日本の冬。"],
    ["only one"],
    ["x y z", "x y", "z y x"],
]


def main():
    metrics = {"chrf": CHRF(), "bleu": BLEU(effective_order=True)}
    cases = []
    for texts in LISTS:
        for name, metric in metrics.items():
            pairwise = [[metric.sentence_score(h, [r]).score for r in texts] for h in texts]
            means = [sum(row) / len(row) for row in pairwise]
            cases.append({"utility": name, "texts": texts, "pairwise": pairwise, "means": means})
    print(json.dumps(cases, ensure_ascii=False, indent=1))


main()
