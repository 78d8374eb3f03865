#!/usr/bin/env python3
"""Compares `dragoman learn-bpe --reproduce` with subword-nmt and tokenizers on random corpora, and says how many agree. Not run by ctest.

  python3 check_reproduction.py DRAGOMAN [CORPORA [SEED]]    # with subword-nmt 0.3.8, tokenizers 0.23.3
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from make_reproduce_golden import random_subword_nmt_case, random_tokenizers_case, repeats_merge
from packages import subword_nmt_codes, tokenizers_vocabulary
from random_corpora import random_corpus


def run(dragoman: str, folder: pathlib.Path, text: str, options: list[str]) -> bytes:
    (folder / "text").write_bytes(text.encode("utf-8"))
    done = subprocess.run([dragoman, "learn-bpe", "--input", str(folder / "text"), "--output", str(folder / "out"), *options], capture_output=True, check=False)
    return (folder / "out").read_bytes() if done.returncode == 0 else b"refused: " + done.stderr


def learn_codes(dragoman: str, folder: pathlib.Path, text: str, case: dict) -> str:
    options = ["--reproduce", "subword-nmt", "--to", "subword-nmt", "--merges", str(case["merges"]), "--min-frequency", str(case["min_frequency"])]
    return run(dragoman, folder, text, options + ["--total-symbols"] * case["total_symbols"]).decode("utf-8")


def learn_vocabulary(dragoman: str, folder: pathlib.Path, text: str, case: dict) -> dict | str:
    options = ["--reproduce", "tokenizers", "--words", case["words"].split()[0], "--vocab-size", str(case["vocab_size"]), "--min-frequency", str(case["min_frequency"])]
    options += ["--special", *case["special_tokens"]]
    options += ["--add-prefix-space"] * case["words"].endswith("prefix") + ["--no-byte-fallback"] * (not case.get("all_bytes"))
    for name, option in (("limit_alphabet", "--limit-alphabet"), ("max_token_length", "--max-token-length"), ("suffix", "--end-of-word-suffix")):
        options += [option, str(case[name])] if case.get(name) else []
    written = run(dragoman, folder, text, options)
    if written.startswith(b"refused"):
        return written.decode("utf-8")
    model = json.loads(written)["model"]
    return {"pieces": sorted(model["vocab"], key=model["vocab"].get), "merges": model["merges"]}


def main() -> None:
    dragoman = str(pathlib.Path(sys.argv[1]).resolve())
    corpora = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    same = {"subword-nmt": 0, "tokenizers": 0}
    unsure = repeated = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for _ in range(corpora):
            text = random_corpus(rng)
            case = random_subword_nmt_case(rng)
            expected, got = subword_nmt_codes(text, **case), learn_codes(dragoman, folder, text, case)
            same["subword-nmt"] += expected == got
            repeated += repeats_merge(expected)
            if expected != got:
                print("subword-nmt", case, repr(text), repr(expected), repr(got), sep="\n")
            case = {**random_tokenizers_case(rng, text), "special_tokens": ["<unk>"]}
            known, learned = tokenizers_vocabulary(text, case), learn_vocabulary(dragoman, folder, text, case)
            unsure += known is None
            same["tokenizers"] += known is not None and known == learned
            if known is not None and known != learned:
                print("tokenizers", case, repr(text), known, learned, sep="\n")
    print(f"subword-nmt: {same['subword-nmt']} of {corpora} corpora agree, {repeated} of which repeat a merge")
    print(f"tokenizers: {same['tokenizers']} of {corpora - unsure} corpora agree; in {unsure} more it does not agree with itself")


if __name__ == "__main__":
    main()
