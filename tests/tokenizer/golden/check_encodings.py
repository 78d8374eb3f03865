#!/usr/bin/env python3
"""Encodes whole texts with Dragoman and with the libraries that the files belong to, and compares the ids line by line: Multi30k, bible46, random Unicode and random bytes. Prints a
table; the exit status is 1 if a line differs. `scripts/test all` runs it where DRAGOMAN_PYTHON names a Python that has the packages.

  python3 check_encodings.py DRAGOMAN [DATA]    # with tokenizers, sentencepiece, tiktoken; DATA has multi30k/ and bible46/, by default ../shared/data
"""
import gzip
import json
import lzma
import pathlib
import random
import subprocess
import sys
import tempfile

import sentencepiece
import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext.openai_public import r50k_pat_str
from tokenizers import Tokenizer

BLOCK = 4096


def texts(data: pathlib.Path):
    """Name and lines as bytes."""
    for path in sorted((data / "multi30k").glob("train.*.gz")):
        yield f"Multi30k {path.name[:-3]}", gzip.open(path).read().split(b"\n")[:-1]
    for path in sorted((data / "bible46").glob("*.xz")):
        yield "bible46", lzma.open(path).read().split(b"\n")[:-1]
    rng = random.Random(1)
    planes = [(0x20, 0x7E), (0x20, 0x20), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x1FFF), (0x2000, 0x2FFF), (0x3040, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF)]
    def text():
        return "".join(chr(rng.randint(*rng.choice(planes))) for _ in range(rng.randint(0, 60)))
    yield "random Unicode", [text().encode() for _ in range(20000)]
    yield "random bytes", [bytes(rng.randrange(256) for _ in range(rng.randint(0, 60))).replace(b"\n", b" ") for _ in range(20000)]


def hugging_face(path: str):
    stored = json.loads(pathlib.Path(path).read_text())
    stored["model"]["merges"] = [" ".join(merge) for merge in stored["model"]["merges"]]  # versions before 0.20 know no pairs
    tokenizer = Tokenizer.from_str(json.dumps(stored))
    tokenizer.encode_special_tokens = True
    return lambda lines: [each.ids for each in tokenizer.encode_batch([line.decode() for line in lines], add_special_tokens=False)]


def piece_model(path: str):
    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    return lambda lines: [processor.encode(line) for line in lines]


def ranks(path: str):
    encoding = tiktoken.Encoding("t", pat_str=r50k_pat_str, mergeable_ranks=load_tiktoken_bpe(path), special_tokens={})
    return lambda lines: [encoding.encode_ordinary(line.decode()) for line in lines]


def main() -> None:
    dragoman = sys.argv[1]
    data = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parents[4] / "shared" / "data")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        def path(name: str) -> str:
            return str(pathlib.Path(folder) / name)

        def run(*arguments: str) -> None:
            subprocess.run([dragoman, *arguments, "--quiet"], check=True)

        corpora = [str(p) for p in sorted((data / "multi30k").glob("train.*.gz"))]
        for xz in (data / "bible46").glob("*.xz"):
            pathlib.Path(path("bible.txt")).write_bytes(b"\n".join(lzma.open(xz).read().split(b"\n")[::7]) + b"\n")
            corpora.append(path("bible.txt"))
        if not corpora:
            print("SKIPPED: no texts in", data)
            return
        run("learn-bpe", "--input", *corpora, "--vocab-size", "16000", "--output", path("bpe.json"))
        run("learn-bpe", "--reproduce", "tokenizers", "--words", "byte-level", "--vocab-size", "16000", "--special", "<unk>", "--input", *corpora, "--output", path("bytes.json"))
        run("learn-bpe", "--reproduce", "tokenizers", "--words", "byte-level", "--vocab-size", "16000", "--no-special", "--to", "tiktoken", "--input", *corpora, "--output", path("ranks.tiktoken"))
        run("learn-bpe", "--to", "sentencepiece", "--normalization", "nmt_nfkc", "--vocab-size", "16000", "--input", *corpora, "--output", path("bpe.model"))
        run("learn-unigram", "--vocab-size", "16000", "--input", *corpora, "--output", path("unigram.model"))
        # Which files cannot be given bytes that are no text: their libraries take str.
        files = [("bpe.json", "tokenizers", hugging_face, False), ("bytes.json", "tokenizers", hugging_face, False), ("ranks.tiktoken", "tiktoken", ranks, False),
                 ("bpe.model", "sentencepiece", piece_model, True), ("unigram.model", "sentencepiece", piece_model, True)]
        print("| text | file | library | lines | ids | lines that differ |\n|---|---|---|---|---|---|")
        for name, lines in texts(data):
            pathlib.Path(path("text")).write_bytes(b"".join(line + b"\n" for line in lines))
            for file, library, load, takes_bytes in files:
                if name == "random bytes" and not takes_bytes:
                    continue
                run("encode", "--tokenizer", path(file), "--format", "ids", "--input", path("text"), "--output", path("ids"))
                ours = pathlib.Path(path("ids")).read_text().split("\n")[:-1]
                theirs = load(path(file))
                different = ids = 0
                for begin in range(0, len(lines), BLOCK):
                    for mine, other in zip(ours[begin:begin + BLOCK], theirs(lines[begin:begin + BLOCK]), strict=True):
                        ids += len(other)
                        different += mine != " ".join(map(str, other))
                failed = failed or different > 0
                print(f"| {name} | {file} | {library} | {len(lines)} | {ids} | {different} |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
