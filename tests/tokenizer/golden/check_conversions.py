#!/usr/bin/env python3
"""Lets the packages read what `dragoman convert` writes and compares their ids or pieces with ours, line by line. Not part of the ordinary tests, which need no
Python.

  python3 check_conversions.py build/release/dragoman    # with subword-nmt 0.3.8, tokenizers 0.23.3, tiktoken 0.14.0, sentencepiece 0.2.3
"""
import pathlib
import subprocess
import sys
import tempfile

import sentencepiece
import tiktoken
from subword_nmt.apply_bpe import BPE
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext.openai_public import r50k_pat_str
from tokenizers import Tokenizer

from golden_lines import HERE, golden_lines

LINES = golden_lines(1500)


def hugging_face(path: str):
    tokenizer = Tokenizer.from_file(path)
    tokenizer.encode_special_tokens = True
    return lambda line: tokenizer.encode(line, add_special_tokens=False).ids


def gpt2(path: str):
    from tokenizers import models, pre_tokenizers
    tokenizer = Tokenizer(models.BPE.from_file(path, path.replace("vocab.json", "merges.txt")))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return lambda line: tokenizer.encode(line).ids


def ranks(path: str):
    return tiktoken.Encoding("t", pat_str=r50k_pat_str, mergeable_ranks=load_tiktoken_bpe(path), special_tokens={}).encode_ordinary


def codes(path: str):
    with open(path, encoding="utf-8") as file:
        return BPE(file).process_line


def spm(path: str):
    return sentencepiece.SentencePieceProcessor(model_file=path).encode


CASES = [
    *[(f"sentencepiece_{name}.model", "t.json", hugging_face) for name in ("plain", "keeps_spaces", "bytes", "no_prefix", "across_words")],
    *[(f"sentencepiece_{name}.model", "t.model", spm) for name in ("plain", "keeps_spaces", "bytes", "no_prefix", "across_words")],
    *[(f"sentencepiece_bpe_{name}.model", "t.model", spm) for name in ("map", "symbols", "symbols_map_keeps_spaces", "wide_map", "suffix", "unescaped", "unused", "unused_bytes", "odd_types")],
    ("sentencepiece_bpe_symbols_apart.model", "t.model", spm), ("sentencepiece_bpe_symbols_apart.model", "t.json", hugging_face),
    *[(f"sentencepiece_unigram_{name}.model", "t.json", hugging_face) for name in ("plain", "bytes", "no_prefix", "map")],
    *[(f"sentencepiece_bpe_{name}.model", "t.json", hugging_face) for name in ("map", "map_keeps_spaces", "map_no_prefix", "wide_map")],
    ("sentencepiece_bpe_tied.model", "t.json", hugging_face), ("sentencepiece_bpe_tied.model", "t.model", spm),
    ("default.tokenizer.json", "t.model", spm),
    ("ranks.tiktoken", "t.json", hugging_face), ("ranks.tiktoken", "t.tiktoken", ranks),
    ("gpt2.vocab.json", "t.json", hugging_face), ("gpt2.vocab.json", "t.vocab.json", gpt2), ("gpt2.merges.txt", "t.tiktoken", ranks),
    ("byte_level_plain.tokenizer.json", "t.vocab.json", gpt2), ("byte_level_prefix.tokenizer.json", "t.json", hugging_face),
    ("byte_level_no_regex.tokenizer.json", "t.json", hugging_face), ("byte_level_cl100k_variant.tokenizer.json", "t.json", hugging_face),
    ("subword_nmt.codes02", "t.json", hugging_face), ("subword_nmt.codes02", "t.codes", codes), ("subword_nmt.codes01", "t.codes", codes),
    ("fastbpe.codes", "t.json", hugging_face), ("fastbpe.codes", "t.codes", codes), ("subword_nmt.improper", "t.codes", codes),
]


def main() -> None:
    program = pathlib.Path(sys.argv[1]).resolve()
    failures = 0
    for source, target, package in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/{target}"
            subprocess.run([program, "convert", "--quiet", HERE / source, "--output", path], check=True)
            form = "pieces" if package is codes else "ids"
            text = "".join(line + "\n" for line in LINES).encode()
            # Sums of scores in double precision decide ties otherwise than SentencePiece does, and maps know single clusters only: docs/reference/tokenizer-formats.md.
            read = path if target == "t.json" and ("unigram" in source or "map" in source) else HERE / source
            ours = subprocess.run([program, "encode", "--quiet", "--tokenizer", read, "--format", form], input=text, capture_output=True, check=True)
            encode = package(path)
            theirs = [encode(line) for line in LINES]
            theirs = [line if form == "pieces" else " ".join(map(str, line)) for line in theirs]
            different = [i for i, line in enumerate(ours.stdout.decode().split("\n")[:-1]) if line != theirs[i]]
            print(f"{source} -> {target}: {len(different)} of {len(LINES)} lines differ", *[repr(LINES[i]) for i in different[:3]])
            failures += bool(different)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
