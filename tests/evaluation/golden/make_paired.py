"""Writes paired.json: what sacreBLEU's tests of significance and numpy's generator say.

    pip install sacrebleu==2.6.0 && python make_paired.py

The systems are made of the texts in this folder: system k has every k-th line of the first reference in place of the
hypothesis's, and the first three words of each line behind those, system 0 neither.
"""
import json
import logging
import os
import pathlib

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

FOLDER = pathlib.Path(__file__).parent
SYSTEMS = [0, 60, 25, 9, 3, 2]


def read(name):
    with open(FOLDER / name, encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n") for line in file]


HYPOTHESES = read("hypothesis.txt")
REFERENCES = [read("reference.0.txt"), read("reference.1.txt")]


def system(every):
    lines = list(HYPOTHESES)
    for i in range(len(lines) if every else 0):
        if i % every == 0:
            lines[i] = REFERENCES[0][i]
        elif i % every == 1:
            lines[i] = " ".join(lines[i].split(" ")[:3])
    return lines


def paired_case(test, samples, seed, references):
    os.environ["SACREBLEU_SEED"] = str(seed)
    metrics = {"BLEU": BLEU(), "CHRF": CHRF(word_order=2), "TER": TER()}
    signatures, scores = PairedTest([(str(every), system(every)) for every in SYSTEMS], metrics, REFERENCES[:references],
                                    test_type=test, n_samples=samples)()
    results = {name: [{key: float(value) for key, value in vars(result).items() if value is not None} for result in results]
               for name, results in scores.items() if name != "System"}
    return {"test": test, "samples": samples, "seed": seed, "references": references, "systems": SYSTEMS,
            "results": results, "signatures": {name: signature.format() for name, signature in signatures.items()}}


def draws(seed):
    random = numpy.random.default_rng(seed)
    return {"seed": seed, "below": [[bound, random.choice(bound, size=(3, 5)).ravel().tolist()]
                                    for bound in (1, 2, 7, 1000, 3_000_000_000, 2**32 - 2)],
            "coins": random.integers(2, size=(5, 9), dtype=bool).astype(int).ravel().tolist(),
            "after": random.choice(100, size=5).tolist()}


def main():
    logging.disable(logging.CRITICAL)
    cases = [paired_case(test, samples, seed, references) for test, samples, seed, references in
             [("bs", 1000, 12345, 1), ("ar", 2000, 12345, 1), ("bs", 300, 7, 2), ("ar", 300, 2**40 + 3, 2)]]
    with open(FOLDER / "paired.json", "w", encoding="utf-8") as file:
        json.dump({"sacrebleu": sacrebleu.__version__, "numpy": numpy.__version__, "draws": [draws(seed) for seed in
                   (0, 1, 12345, 2**32 - 1, 2**32, 2**64 - 1)], "paired": cases}, file, separators=(",", ":"))
        file.write("\n")


main()
