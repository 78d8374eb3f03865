#!/usr/bin/env python3
"""Writes youtokentome.model and youtokentome.json: the ids and the decoded text that YouTokenToMe gives for golden_lines.py.

  python3 make_youtokentome_golden.py YTTM DECODE

Its Python package builds no more, so this takes two small programs around its sources (github.com/VKCOM/YouTokenToMe, 1.0.6): `YTTM bpe TEXT MODEL SIZE
THREADS` learns, `YTTM encode MODEL THREADS id` encodes lines, and `DECODE MODEL` decodes lines of ids without the special ones.
"""
import json
import subprocess
import sys
import tempfile

from golden_lines import CORPUS, HERE, golden_lines

# Kinds of space, and unknown characters next to known ones.
LINES = ["a\vb\fc", "\v a \f", "a\u2581\u2581b", "\u00a0a\u2028b", "the\u4e00\u4e8criver\u4e09", "\u4e00 \u4e8c", "\u4e00\u2581\u4e8c", "<UNK>", "<PAD>the<EOS>"]


def run(command: list[str], lines: list[str]) -> list[str]:
    text = "".join(line + "\n" for line in lines).encode("utf-8")
    return subprocess.run(command, input=text, check=True, capture_output=True).stdout.decode("utf-8").split("\n")[: len(lines)]


def main() -> None:
    yttm, decode = sys.argv[1:]
    model = str(HERE / "youtokentome.model")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as text:
        text.write("\n".join(CORPUS * 3) + "\n")
        text.flush()
        subprocess.run([yttm, "bpe", text.name, model, "350", "1"], check=True, capture_output=True)
    lines = golden_lines(200) + LINES
    encoded = run([yttm, "encode", model, "1", "id"], lines)
    decoded = run([decode, model], encoded)
    rows = [{"text": line, "ids": [int(i) for i in ids.split()], "decoded": text} for line, ids, text in zip(lines, encoded, decoded, strict=True)]
    (HERE / "youtokentome.json").write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
