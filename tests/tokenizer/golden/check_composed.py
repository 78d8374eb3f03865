#!/usr/bin/env python3
"""Compares `dragoman encode` and `decode` with the library tokenizers, id by id and byte by byte, for all tokenizers of composed_tokenizers.py, which learn from the given texts, on these texts and on
random ones. Takes minutes for large texts.

  [ONLY=NAME] python3 check_composed.py build/release/bin/dragoman TEXT...    # with tokenizers, sentencepiece and protobuf
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from composed_tokenizers import all_tokenizers
from golden_lines import golden_lines

SIZE = 2000


def random_lines(count: int) -> list[str]:
    rng = random.Random(11)
    ranges = [(32, 126), (0xA0, 0x24F), (0x300, 0x36F), (0x400, 0x4FF), (0x5D0, 0x6FF), (0x900, 0x97F), (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xFB00, 0xFFEE), (0x1F300, 0x1F6FF)]
    lines = []
    for _ in range(count):
        chosen = rng.sample(ranges, rng.randint(1, 3))
        line = "".join(chr(rng.randint(*rng.choice(chosen))) if rng.random() < 0.8 else rng.choice(" \t '\u2581_-\r") for _ in range(rng.randint(1, 60)))
        lines.append("".join(c for c in line if c not in "\u2028\u2029\n\x85"))
    return lines


def run(arguments: list[str], text: str) -> list[str]:
    done = subprocess.run(arguments, input=text.encode("utf-8"), capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return done.stdout.decode("utf-8").split("\n")[:-1]


def main() -> None:
    dragoman, files = sys.argv[1], sys.argv[2:]
    corpus = [line for file in files for line in pathlib.Path(file).read_text(encoding="utf-8").split("\n")]
    lines = golden_lines() + corpus + random_lines(20000)
    text = "".join(line + "\n" for line in lines)
    failures = 0
    for name, tokenizer in all_tokenizers(corpus[:20000], SIZE).items():
        if os.environ.get("ONLY", "") not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/tokenizer.json"
            tokenizer.save(path)
            for special in (False, True):
                tokenizer.encode_special_tokens = not special
                expected = [encoding.ids for encoding in tokenizer.encode_batch(lines, add_special_tokens=False)]
                found = run([dragoman, "encode", "--tokenizer", path, "--format", "ids"] + (["--match-special"] if special else []), text)
                wrong = [i for i, ids in enumerate(expected) if " ".join(map(str, ids)) != found[i]]
                for i in wrong[:5]:
                    print(f"{name}: {lines[i]!r}:\n  {[tokenizer.id_to_token(k) for k in expected[i]]}\n  {[tokenizer.id_to_token(int(k)) for k in found[i].split()]}")
                failures += len(wrong)
                print(f"{name}{' with special tokens' if special else ''}: {len(lines) - len(wrong)} of {len(lines)} lines have the same ids", flush=True)
            decoded = run([dragoman, "decode", "--quiet", "--tokenizer", path, "--format", "ids"], "".join(" ".join(map(str, ids)) + "\n" for ids in expected))
            wanted = [line.replace("\n", " ") for line in tokenizer.decode_batch(expected)]
            wrong = [i for i, line in enumerate(wanted) if line != decoded[i]]
            for i in wrong[:5]:
                print(f"{name}: {lines[i]!r} decodes to\n  {wanted[i]!r}\n  {decoded[i]!r}")
            failures += len(wrong)
            print(f"{name}: {len(lines) - len(wrong)} of {len(lines)} lines have the same text", flush=True)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
