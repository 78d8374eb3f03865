#!/usr/bin/env python3
"""Writes composed.json: some of the tokenizers of composed_tokenizers.py, learned from corpus.txt, and for lines of text the ids that the library gives without and with special tokens, and the
decoded text; and which characters belong to the classes of characters by which its parts go.

  python3 make_composed_golden.py    # with tokenizers 0.19.1, sentencepiece 0.2.3 and protobuf
"""
import json
import os
import tempfile

from tokenizers import normalizers, pre_tokenizers

from composed_tokenizers import all_tokenizers
from golden_lines import CORPUS, HERE, golden_lines

# In place of 240 kB of nmt_nfkc; in SentencePiece's form of code points in hexadecimal.
RULES = {"\ufb01": "fi", "\uff21": "A", "\u3000": " ", "\t": " ", "\u0001": "", "e\u0301": "\u00e9", "\u2026": "...", "\u2167": "VIII"}
NAMES = ["bytes_qwen2", "bytes_o200k", "bytes_lookaround", "xlm_roberta", "t5", "first", "uncased", "cased", "whole_words", "flags", "split_removed_inverted", "split_merged_with_previous", "split_contiguous"]
LINES = ["<mask> a  <mask>b", "x<ph>  y", "  <ph <ph>the<ph>  ", "the theing ing  the", "riverriver RIVER river s rivers", "a  b", "\ufb01n FIN fin", "deu_Latn the</s>", "[MASK][SEP] a", "un\u00e9\u0301 \u00c5A\u030a",
         "\u4e2d\u6587\u5b57 a\u4e2db", "a\u00adb\u200bc\ufffd", "it's I'LL \u017fome", "12345 67-89", "camelCaseWORDs testING", "a--b -c- -", "don't!? (yes) [no]", "do not , it 's .", "\u3000\u2026\u2167 \uff21", "<|im_start|>a<|im_end|>"]


def ranges(members) -> list[list[int]]:
    result: list[list[int]] = []
    for c in members:
        if result and result[-1][1] == c - 1:
            result[-1][1] = c
        else:
            result.append([c, c])
    return result


def classes() -> dict[str, list[list[int]]]:
    characters = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    bert = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    changes = {"combining_mark": normalizers.StripAccents(), "nonspacing_mark": normalizers.BertNormalizer(**(bert | {"strip_accents": True})), "removed_by_bert": normalizers.BertNormalizer(**(bert | {"clean_text": True})),
               "removed_by_nmt": normalizers.Nmt()}
    cuts = {"punctuation": (pre_tokenizers.Punctuation(), 3), "word": (pre_tokenizers.Whitespace(), 1), "white_space": (pre_tokenizers.WhitespaceSplit(), 2)}
    result = {name: ranges(c for c in characters if step.normalize_str(f"a{chr(c)}b") == "ab") for name, step in changes.items()}
    result["space_to_nmt"] = ranges(c for c in characters if normalizers.Nmt().normalize_str(f"a{chr(c)}b") == "a b" and c != 32)
    chinese = normalizers.BertNormalizer(**(bert | {"handle_chinese_chars": True}))
    result["chinese"] = ranges(c for c in characters if chinese.normalize_str(f"a{chr(c)}b") == f"a {chr(c)} b")
    return result | {name: ranges(c for c in characters if len(step.pre_tokenize_str(f"a{chr(c)}b")) == parts) for name, (step, parts) in cuts.items()}


def rows(tokenizer, lines: list[str]) -> list[dict]:
    result = []
    for line in lines:
        tokenizer.encode_special_tokens = True
        ids = tokenizer.encode(line, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        row = {"text": line, "ids": ids, "decoded": tokenizer.decode(ids)}
        special = tokenizer.encode(line, add_special_tokens=False).ids
        result.append(row if special == ids else row | {"special_ids": special})
    return result


def main() -> None:
    os.chdir(tempfile.mkdtemp())
    with open("rules.tsv", "w", encoding="utf-8") as out:
        for source, target in RULES.items():
            out.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
    made = all_tokenizers(CORPUS * 3, 220, normalization_rule_tsv="rules.tsv")
    lines = golden_lines(170)[:110] + LINES
    sections = {name: {"tokenizer": json.loads(made[name].to_str()), "rows": rows(made[name], lines)} for name in NAMES}
    with open(HERE / "composed.json", "w", encoding="utf-8") as out:
        out.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(section)}" for name, section in sections.items()) + f",\n\"classes\": {json.dumps(classes())}\n" + "}\n")


if __name__ == "__main__":
    main()
