"""Exports the bundled model, and translates with ctranslate2 and with transformers what dragoman translates: the hypotheses must be equal.

    DRAGOMAN=build/release/bin/dragoman DRAGOMAN_DATA=... python3 make_exports.py    # ctranslate2 4.8.5, transformers 4.44 with torch

Of the first 200 lines of Multi30k's test_2016_flickr, by greedy search and with a beam of 4. exports.json keeps how many were equal, and the
SHA-256 of all hypotheses as lines of pieces, which exports_test.cpp computes again.
"""
import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import ctranslate2
import torch
import transformers

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[3]
DRAGOMAN = os.environ.get("DRAGOMAN", str(ROOT / "build/release/bin/dragoman"))
DATA = pathlib.Path(os.environ.get("DRAGOMAN_DATA", ROOT / "../shared/data"))
LONGEST = 100


def dragoman(*arguments, text=None):
    return subprocess.run([DRAGOMAN, *map(str, arguments), "--quiet"], input=text, capture_output=True, text=True, check=True).stdout


def ours(model, lines, *options):
    out = dragoman("translate", "--model", model, "--format", "jsonl", "--maximum-length", LONGEST, "--minimum-length", 1, *options, text="\n".join(lines) + "\n")
    return [json.loads(line)["tokens"] for line in out.splitlines()]


def main():
    model = ROOT / "examples/multi30k/model"
    lines = gzip.decompress((DATA / "multi30k/test_2016_flickr.de.gz").read_bytes()).decode().splitlines()[:200]
    scratch = pathlib.Path(tempfile.mkdtemp())
    for form in ("ctranslate2", "huggingface"):
        dragoman("convert", model, "--to", form, "--output", scratch / form)
    sources = [line.split() for line in dragoman("encode", "--tokenizer", model / "tokenizer.json", text="\n".join(lines) + "\n").splitlines()]
    vocabulary = json.loads((scratch / "ctranslate2/shared_vocabulary.json").read_text())
    ids = {piece: i for i, piece in enumerate(vocabulary)}
    golden = {}

    def compare(name, theirs, mine):
        equal = sum(a == b for a, b in zip(theirs, mine))
        for line, a, b in zip(lines, theirs, mine):
            if a != b:
                print(name, line, " ".join(a), " ".join(b), sep="\n  ", file=sys.stderr)
        text = "".join(" ".join(tokens) + "\n" for tokens in theirs)
        golden[name] = {"equal": equal, "of": len(lines), "sha256": hashlib.sha256(text.encode()).hexdigest()}

    translator = ctranslate2.Translator(str(scratch / "ctranslate2"), compute_type="float32")
    for name, beam, options in (("greedy", 1, ["--decoder", "greedy"]), ("beam", 4, ["--beam-size", 4, "--length-penalty", "ct2"])):
        found = [result.hypotheses[0] for result in translator.translate_batch(sources, beam_size=beam, max_decoding_length=LONGEST)]
        compare(f"ctranslate2-{name}", found, ours(model, lines, *options))

    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(scratch / "huggingface").eval()
    end = theirs.config.eos_token_id
    for name, beam, options in (("greedy", 1, ["--decoder", "greedy"]), ("beam", 4, ["--beam-size", 4, "--length-penalty", "transformers", "--alpha", 1])):
        found = []
        for source in sources:
            with torch.no_grad():
                tokens = theirs.generate(torch.tensor([[ids[piece] for piece in source] + [end]]), num_beams=beam, max_length=LONGEST, min_length=2)[0]
            found.append([vocabulary[int(i)] for i in tokens[1:] if int(i) != end])
        compare(f"transformers-{name}", found, ours(model, lines, *options))
    print(json.dumps(golden, indent=1))
    (HERE / "exports.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
