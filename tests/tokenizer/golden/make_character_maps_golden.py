#!/usr/bin/env python3
"""Writes character_maps.json: fingerprints of what the SentencePiece library's normaliser makes of every code point between two letters and of random strings,
for each of its named rules and for character_rules.tsv.

  python3 make_character_maps_golden.py    # with sentencepiece 0.2.3
"""
import io
import json

import sentencepiece

from golden_lines import HERE

# Where the characters of random strings come from: letters, accents, Hangul, kana, half and full widths, presentation forms, Indic scripts, spaces, controls, and younger scripts.
RANGES = [(0x41, 0x5A), (0x61, 0x7A), (0x300, 0x345), (0x1100, 0x11FF), (0xAC00, 0xAC80), (0x3040, 0x309F), (0x3099, 0x30FF), (0xFF00, 0xFFEF), (0xFB50, 0xFDFF), (0xF900, 0xFAFF),
          (0x900, 0xDFF), (0x1F00, 0x1FFF), (0x2000, 0x206F), (0x1, 0x20), (0x1CCD6, 0x1CCF9), (0x11380, 0x113C9), (0x1611E, 0x16129), (0x16D63, 0x16D6A), (0x1E030, 0x1E06D)]
STRINGS = 200_000


def fnv(value: int, data: bytes) -> int:
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def random_strings():
    state = 1

    def draw(bound: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        return (state >> 33) % bound

    for _ in range(STRINGS):
        text = ""
        for _ in range(1 + draw(6)):
            first, last = RANGES[draw(len(RANGES))]
            text += chr(first + draw(last - first + 1))
        yield text


def fingerprint(normalizer) -> str:
    value = 0xCBF29CE484222325
    for code_point in range(1, 0x110000):
        if not 0xD800 <= code_point <= 0xDFFF:
            value = fnv(value, normalizer.normalize("a" + chr(code_point) + "b").encode() + b"\n")
    for text in random_strings():
        value = fnv(value, normalizer.normalize(text).encode() + b"\n")
    return f"{value:016x}"


def main() -> None:
    plain = dict(add_dummy_prefix=False, escape_whitespaces=False, remove_extra_whitespaces=False)
    found = {name: fingerprint(sentencepiece.SentencePieceNormalizer(rule_name=name, **plain)) for name in ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"]}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["a b c"] * 9), model_writer=model, vocab_size=10, hard_vocab_limit=False, minloglevel=2,
                                             normalization_rule_tsv=str(HERE / "character_rules.tsv"))
    (HERE / "character_rules.model").write_bytes(model.getvalue())
    found["character_rules.tsv"] = fingerprint(sentencepiece.SentencePieceNormalizer(model_proto=model.getvalue(), **plain))
    (HERE / "character_rules.model").unlink()
    (HERE / "character_maps.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
