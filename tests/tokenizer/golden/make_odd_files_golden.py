#!/usr/bin/env python3
"""Writes odd_files.json: tokenizer.json files that people have and no library writes today (ids with a gap, few byte pieces, added tokens that are listed twice or out of
order, no version), with the ids that the library tokenizers gives, without and with what the post-processor adds. Truncation and padding are off.

  python3 make_odd_files_golden.py    # with tokenizers 0.23.3
"""
import copy
import json
import pathlib

from tokenizers import Tokenizer

BASE = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3}, "merges": [["a", "b"]]}}
TEXTS = ["", "ab", "abxa", "bab", "ab<s>a<t>", "a\u00e9b", "\u00e8\u00e9\u00e0", "x\u00e9", "xy\u00e9", "xy\u00e9a\u00e8", "<0x62>", "b \u00e9x", "\u00e9x\u00e9y"]


def token(id: int, content: str, special: bool = True) -> dict:
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special}


def template(in_front: list[str], behind: list[str], ids: dict[str, list[int]]) -> dict:
    single = [{"SpecialToken": {"id": each, "type_id": 0}} for each in in_front] + [{"Sequence": {"id": "A", "type_id": 0}}] + [{"SpecialToken": {"id": each, "type_id": 0}} for each in behind]
    return {"type": "TemplateProcessing", "single": single, "pair": single + [{"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {name: {"id": name, "ids": each, "tokens": [name] * len(each)} for name, each in ids.items()}}


def of_model(**changes) -> dict:
    file = copy.deepcopy(BASE)
    file["model"].update(changes)
    return file


def of_file(**changes) -> dict:
    return dict(copy.deepcopy(BASE), **changes)


def without(*path: str) -> dict:
    file = copy.deepcopy(BASE)
    part = file
    for key in path[:-1]:
        part = part[key]
    del part[path[-1]]
    return file


FEW_BYTES = {"<unk>": 0, "a": 1, "<0xC3>": 2, "<0xA9>": 3, "<0x62>": 4}
ALL_BYTES = {f"<0x{byte:02X}>": 4 + byte for byte in range(256)}
S_AND_T = [token(4, "<s>"), token(5, "<t>")]
CASES = {
    "gap": of_model(vocab={"<unk>": 0, "a": 1, "b": 2, "ab": 5}),
    "gap and a listed token": dict(of_model(vocab={"<unk>": 0, "a": 1, "b": 2, "ab": 3, "<s>": 9}), added_tokens=[token(9, "<s>"), token(10, "<t>", False)]),
    "gap in a vocabulary of words": of_file(model={"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "ab": 7, "bab": 3}}),
    "beyond the vocabulary": of_file(added_tokens=[token(4, "<s>"), token(7, "<t>")]),
    "far beyond the vocabulary": of_file(added_tokens=[token(100, "<s>")]),
    "out of order": of_file(added_tokens=[token(5, "<t>"), token(4, "<s>")]),
    "text and special out of order": of_file(added_tokens=[token(5, "<t>", False), token(4, "<s>")]),
    "token twice": of_file(added_tokens=[token(4, "<s>"), token(5, "<s>"), token(6, "<t>")]),
    "empty token": of_file(added_tokens=[token(4, ""), token(5, "<s>")]),
    "no version": without("version"),
    "no type": without("model", "type"),
    "a version line among the merges": of_model(merges=["#version: 0.2", "a b"]),
    "few bytes": of_model(vocab=FEW_BYTES, merges=[], byte_fallback=True),
    "few bytes, unknown fused": of_model(vocab=FEW_BYTES, merges=[], byte_fallback=True, fuse_unk=True),
    "few bytes, merged": of_model(vocab=dict(FEW_BYTES, **{"b": 5, "ab": 6}), merges=[["a", "b"]], byte_fallback=True),
    "bytes and a suffix": dict(of_model(vocab=dict({"<unk>": 0, "a": 1, "b</w>": 2, "ab</w>": 3}, **ALL_BYTES), merges=[["a", "b</w>"]], byte_fallback=True, end_of_word_suffix="</w>"),
                               pre_tokenizer={"type": "WhitespaceSplit"}, decoder={"type": "BPEDecoder", "suffix": "</w>"}),
    "truncation and padding": of_file(truncation={"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
                                      padding={"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>"}),
    "template": of_file(added_tokens=S_AND_T, post_processor=template(["<s>"], ["<t>", "<s>"], {"<s>": [4], "<t>": [5]})),
    "template of several ids": of_file(added_tokens=S_AND_T, post_processor=template([], ["<t>"], {"<t>": [5, 4]})),
    "BERT": of_file(added_tokens=S_AND_T, post_processor={"type": "BertProcessing", "sep": ["<t>", 5], "cls": ["<s>", 4]}),
    "RoBERTa": of_file(added_tokens=S_AND_T, post_processor={"type": "RobertaProcessing", "sep": ["<t>", 5], "cls": ["<s>", 4], "trim_offsets": True, "add_prefix_space": False}),
    "sequence": of_file(added_tokens=S_AND_T, post_processor={"type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
                                                                                                  template(["<s>"], ["<t>"], {"<s>": [4], "<t>": [5]})]}),
}


def main() -> None:
    cases = []
    for name, file in CASES.items():
        tokenizer = Tokenizer.from_str(json.dumps(file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        rows = [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids, "added": tokenizer.encode(text).ids} for text in TEXTS]
        cases.append({"name": name, "file": file, "rows": rows})
    out = pathlib.Path(__file__).parent / "odd_files.json"
    out.write_text("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
