#!/usr/bin/env python3
"""Exports models with `convert --to huggingface` and opens the tokenizers as `AutoTokenizer` of the library transformers: each line must have the ids of ours, and the end behind
them, and must be decoded alike. The models: the bundled one, which has a tokenizer.json; one like it with SentencePiece models of the folder tests/tokenizer/golden in its place;
and imports of the golden folders. Not part of the ordinary tests, which need no Python.

  python3 check_auto_tokenizer.py build/release/dragoman    # with transformers 5.24 or 4.57, sentencepiece, protobuf
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import transformers

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/tokenizer/golden"))
from golden_lines import golden_lines  # noqa: E402

# MarianTokenizer takes codes at the beginning of a line off, and no tokenizer has line ends in a line.
LINES = [line for line in golden_lines(400) if not line.startswith(">>") and "\n" not in line and "\0" not in line]


def lines_without_clusters() -> list[str]:
    """Of character maps, a tokenizer.json says less than a SentencePiece model (docs/reference/tokenizer-formats.md)."""
    return [line for line in LINES if all(ord(c) < 0x300 for c in line) and "<" not in line]


def main() -> None:
    program = pathlib.Path(sys.argv[1]).resolve()
    scratch = pathlib.Path(tempfile.mkdtemp())

    def run(*arguments, text: str = "") -> str:
        return subprocess.run([program, *map(str, arguments)], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()

    models = {"bundled": ROOT / "examples/multi30k/model"}
    for family in ("marian", "marian-separate", "pegasus", "t5", "flan-t5", "umt5"):
        models[family] = scratch / family
        run("convert", "--quiet", HERE / "huggingface" / family, "--output", models[family])
    failed = False
    for name, model in models.items():
        folder = scratch / f"{name}-exported"
        run("convert", "--quiet", model, "--to", "huggingface", "--output", folder)
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
        config = json.loads((model / "config.json").read_text())
        end = config["sequences"]["end"]
        stored = config.get("tokenizer", {})
        stored = stored.get("source", stored)
        file = next(path for path in (model / "tokenizer.json", model / "source.tokenizer.json", model / "tokenizer.model", model / "source.tokenizer.model") if path.exists())
        kind = ["--tokenizer-type", stored["type"]] if stored.get("type") else []
        kind += [each for key, value in stored.get("options", {}).items() for each in ("--tokenizer-options", f"{key}={value}")]
        lines = lines_without_clusters() if (folder / "spiece.model").exists() else LINES
        ours = [[int(id) for id in line.split()] + [end] for line in run("encode", "--quiet", "--tokenizer", file, *kind, "--format", "ids", text="".join(line + "\n" for line in lines)).split("\n")[:-1]]
        theirs = tokenizer(lines)["input_ids"]
        different = [line for line, mine, other in zip(lines, ours, theirs, strict=True) if mine != other]
        batch = tokenizer(lines[:3], padding=True)
        print(f"{transformers.__version__} | {name} | {type(tokenizer).__name__} | {len(lines)} lines | {len(different)} differ | {sorted(batch)}", *[repr(line) for line in different[:3]])
        failed = failed or bool(different) or tokenizer.eos_token_id != end or tokenizer.pad_token_id != json.loads((folder / "config.json").read_text())["pad_token_id"]
    shutil.rmtree(scratch)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
