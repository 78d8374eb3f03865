#!/usr/bin/env python3
"""Writes huggingface.json: what Hugging Face tokenizers make of our tokenizer files.

The tokenizer files themselves were made by

  dragoman learn-bpe -i corpus.txt -o default.tokenizer.json --vocab-size 640 --no-escape
  dragoman learn-bpe -i corpus.txt -o nfkc.tokenizer.json --no-escape --vocab-size 360 --no-byte-fallback --character-coverage 0.99 \
      --normalization nfkc --lowercase --user-symbol '<ph>' '@' 'x.y' '@@' --special '<unk>' '<s>' '</s>' '<2de>'
  dragoman learn-bpe -i corpus.txt -o nfc.tokenizer.json --no-escape --vocab-size 600 --normalization nfc --user-symbol '{1}'

  python3 make_golden.py    # with tokenizers 0.23.3
"""
import json
import pathlib

from tokenizers import Tokenizer, __version__

HERE = pathlib.Path(__file__).parent
NASTY = [
    "", " ", "  ", "     ", " a", "a ", "  a  b   c    ", "a\tb", "\t", "a\rb", "line\r", "\r", "a\u0000b", "\u0000",
    "\u2581", "a\u2581b", " \u2581 ", "\u2581\u2581", "a \u2581b", "<s>", "</s> and <unk>", "a<s>b", "<0x41>", "<0x0A><0xFF>", "<2de> the river",
    "<ph>", "a<ph>b", "a <ph> b", "<ph><ph>", " <ph>", "<ph> ", "@@", "@", "@ @@ @@@", "x.y", "xzy", "x.y x.y.x.y", "{1}a{1} b {1}",
    "\U0001F600", "the \U0001F468\u200d\U0001F469\u200d\U0001F467 river", "e\u0301tait", "\u00e9tait", "a\u0301\u0323", "\u0301", " \u0301", "\u0301 \u0323",
    "\u00a0nbsp\u00a0", "\u3000wide\u3000", "\ufb01nal", "\uff21\uff22\uff23", "\u2460\u2461", "\ufdfa", "\u0130stanbul", "I\u0307", "STRASSE", "\u1e9e",
    "\u039f\u0394\u039f\u03a3", "\u1100\u1161\u11a8", "\uac01", "\u212b", "\ufffd", "\uffff", "\U0010ffff", "\u200b\u200b", "\ufeffbom",
    "interpreterinterpreterinterpreter", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "the" * 60,
    "\u901a\u8a33\u306f\u7686\u306b\u805e\u3053\u3048\u3001\u8ab0\u306b\u3082\u6c17\u3065\u304b\u308c\u306a\u3044\u3002", "Zug\u00adfahrt",
]


def results(name: str, lines: list[str]) -> dict:
    tokenizer = Tokenizer.from_file(str(HERE / f"{name}.tokenizer.json"))
    rows = []
    for line in lines:
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(line, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        matched = tokenizer.encode(line, add_special_tokens=False).ids
        rows.append({"text": line, "ids": plain, "ids_with_special": matched, "decoded": tokenizer.decode(plain)})
    return {"name": name, "rows": rows}


def main() -> None:
    lines = NASTY + (HERE / "corpus.txt").read_text(encoding="utf-8").splitlines()
    golden = {"tokenizers": __version__, "files": [results(name, lines) for name in ("default", "nfkc", "nfc")]}
    with open(HERE / "huggingface.json", "w", encoding="utf-8") as out:
        rows = ",\n".join(json.dumps(entry, separators=(",", ":")).replace('{"text"', '\n{"text"') for entry in golden["files"])
        out.write('{"tokenizers":"%s","files":[\n%s\n]}\n' % (golden["tokenizers"], rows))


if __name__ == "__main__":
    main()
