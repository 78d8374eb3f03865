#!/usr/bin/env python3
"""Writes library_offsets.json: ids, tokens, offsets and words that the library `tokenizers` gives.

    python3 tests/tokenizer/golden/make_library_offsets_golden.py

The tokenizers are those of composed.json, without their post-processors, and the ones below. Needs tokenizers 0.23.3.
"""

import json
import os
from pathlib import Path

from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent

TEXTS = [
    "Two men are at the stove.",
    "  a  b \t c\n",
    "",
    " ",
    "don't STOP  12,345 (now)!",
    "<s>a</s> b<mask>  c",
    "Füße naïve e\u0301te\u0301 A\u030a \u212b",
    "\ufb01ne \u0130stanbul \u00bd \u2167 \ufdfa",
    "\u4e00\u4e8c a\u4e09 \u30ab\u3099\u30ab",
    "\ud55c\uae00 \u1112\u1161\u11ab",
    "\U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea x",
    "a\u00ad\u200bb\u00a0c\u3000d",
    "\u2581a \u2581 b",
    "\ufeffHello \ufffd x",
    "\u0001\u0001ab \ufb01\u0001c \u2026\u0001\u0001d",
    "u\u0303\u0336 a\u0336\u0301b \u00e5\u0323",
    "the unhappiest zebra",
    "abc ab c x abx xab",
]


def document(model, **parts):
    empty = dict(truncation=None, padding=None, added_tokens=[], normalizer=None, pre_tokenizer=None, decoder=None)
    return {"version": "1.0", **empty, "post_processor": None, "model": model, **parts}


def bpe(vocab, merges, **options):
    given = dict(dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None, fuse_unk=False)
    given |= dict(byte_fallback=False, ignore_merges=False) | options
    return {"type": "BPE", **given, "vocab": {token: id for id, token in enumerate(vocab)}, "merges": merges}


def added(id, content, **flags):
    given = dict(single_word=False, lstrip=False, rstrip=False, normalized=True, special=False)
    return {"id": id, "content": content, **given, **flags}


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
EXTRA = {
    "drops": document(bpe(["a", "b", "c", "ab", "abc"], [["a", "b"], ["ab", "c"]])),
    "drops_around_tokens": document(
        bpe([], []), added_tokens=[added(0, "men"), added(1, "at", lstrip=True), added(2, "the", rstrip=True)]
    ),
    "spells_an_added_token": document(
        bpe(["a", "b", "ab"], [["a", "b"]]), added_tokens=[added(2, "ab"), added(3, "\u00e9", normalized=True)]
    ),
    "prepends": document(
        bpe(["<unk>", *BYTES, "\u2581", "a", "b", "\u2581a"], [["\u2581", "a"]], unk_token="<unk>", byte_fallback=True),
        normalizer={
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "\u2581"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
            ],
        },
    ),
    "unigram_bytes": document(
        {
            "type": "Unigram",
            "unk_id": 0,
            "byte_fallback": True,
            "vocab": [
                ["<unk>", 0.0],
                *([byte, -9.0] for byte in BYTES),
                ["\u2581a", -1.0],
                ["a", -2.0],
                ["\u2581", -2.5],
            ],
        },
        pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    ),
    "unigram_unknown": document(
        {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -1.0]]},
        normalizer={"type": "NFKC"},
    ),
    "suffix": document(
        bpe(["a", "b", "a</w>", "b</w>", "ab</w>", "e"], [["a", "b</w>"]], end_of_word_suffix="</w>"),
        normalizer={
            "type": "Sequence",
            "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}],
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
    ),
    "replaces_nothing": document(
        {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [["<unk>", 0.0], ["a", -1.0], ["_", -1.0], ["_a", -1.5]]},
        normalizer={
            "type": "Sequence",
            "normalizers": [
                {"type": "Strip", "strip_left": True, "strip_right": True},
                {"type": "Replace", "pattern": {"Regex": "x{0,}"}, "content": "_"},
            ],
        },
    ),
    "normalized_bytes": document(
        bpe(["a", "b", "\u0120", "\u00c3"], []), normalizer={"type": "ByteLevel"}, added_tokens=[added(4, "\u00e9")]
    ),
}


def row(tokenizer, text):
    encoding = tokenizer.encode(text, add_special_tokens=False)
    return {
        "text": text,
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": encoding.offsets,
        "words": encoding.word_ids,
    }


def main():
    sections = {
        name: {**section["tokenizer"], "post_processor": None}
        for name, section in json.loads((HERE / "composed.json").read_text()).items()
        if "tokenizer" in section
    }
    made = {}
    for name, tokenizer in {**sections, **EXTRA}.items():
        opened = Tokenizer.from_str(json.dumps(tokenizer))
        rows = [row(opened, text) for text in TEXTS]
        made[name] = {**({"tokenizer": tokenizer} if name in EXTRA else {}), "rows": rows}
    lines = []
    for name, section in made.items():
        head = f'"tokenizer": {json.dumps(section["tokenizer"])}, ' if "tokenizer" in section else ""
        rows = ",\n".join(json.dumps(row) for row in section["rows"])
        lines.append(f'"{name}": {{{head}"rows": [\n{rows}]}}')
    temporary = HERE / "library_offsets.json.new"
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(temporary, HERE / "library_offsets.json")


if __name__ == "__main__":
    main()
