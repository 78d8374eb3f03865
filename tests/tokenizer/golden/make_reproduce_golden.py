#!/usr/bin/env python3
"""Writes reproduce.json: what subword-nmt and tokenizers learn from random corpora, corpus.txt, Multi30k and a sample of bible46.

  DRAGOMAN_DATA=... python3 make_reproduce_golden.py    # with subword-nmt 0.3.8, tokenizers 0.23.3; takes some minutes
"""
import gzip
import json
import lzma
import os
import pathlib
import random

from golden_lines import CORPUS, HERE, golden_lines
from packages import fingerprint, subword_nmt_codes, tokenizers_vocabulary, vocabulary_text
from random_corpora import has_clear_limit, random_corpus
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

DATA = pathlib.Path(os.environ.get("DRAGOMAN_DATA", "../shared/data"))


def random_subword_nmt_case(rng: random.Random) -> dict:
    return {"merges": rng.choice([5, 30, 250]), "min_frequency": rng.choice([1, 1, 2, 5]), "total_symbols": rng.random() < 0.2}


def random_tokenizers_case(rng: random.Random, text: str) -> dict:
    words = rng.choice(["metaspace", "spaces", "spaces", "whitespace", "whitespace", "byte-level", "byte-level prefix"])
    case = {"words": words, "vocab_size": rng.choice([8, 20, 60, 400]), "min_frequency": rng.choice([0, 1, 2, 5]), "special_tokens": rng.choice([["<unk>"], [], ["<s>", "<unk>", "\u4e00\u4e01"]])}
    if "space" in words and words != "metaspace" and rng.random() < 0.3:
        case["suffix"] = rng.choice(["</w>", "_"])  # of which the second also stands in some texts
    if words == "spaces" and rng.random() < 0.3:
        limit = rng.randint(1, 4)
        if has_clear_limit(text, limit):
            case["limit_alphabet"] = limit
    if rng.random() < 0.3:
        case["max_token_length"] = rng.randint(2, 6)
    if words.startswith("byte-level"):
        case["all_bytes"] = rng.random() < 0.2
    return case


def random_cases(count: int) -> tuple[list[dict], list[dict]]:
    rng = random.Random(11)
    codes, vocabularies = [], []
    while len(codes) < count or len(vocabularies) < count:
        text = random_corpus(rng)
        case = random_subword_nmt_case(rng)
        if len(codes) < count and len(text) < 1500:
            codes.append({"text": text, **case, "codes": subword_nmt_codes(text, **case)})
        case = random_tokenizers_case(rng, text)
        learned = tokenizers_vocabulary(text, case) if len(vocabularies) < count and len(text) < 1500 else None
        if learned:
            vocabularies.append({"text": text, **case, **learned})
    return codes, vocabularies


def repeats_merge(codes: str) -> bool:
    lines = codes.splitlines()
    return len(set(lines)) < len(lines)


def cases_with_repeated_merges(count: int) -> list[dict]:
    """subword-nmt finds a merge again only where words hold white space."""
    rng = random.Random(12)
    found: list[dict] = []
    while len(found) < count:
        text = " ".join(" ".join(["".join(rng.choice("aab\u00a0") for _ in range(rng.randint(1, 60)))] * rng.choice([1, 1, 2, 3])) for _ in range(12))
        case = {"merges": 400, "min_frequency": 1, "total_symbols": False}
        codes = subword_nmt_codes(text, **case)
        if repeats_merge(codes):
            found.append({"text": text, **case, "codes": codes})
    return found


def multi30k() -> str:
    return "".join(gzip.open(DATA / "multi30k" / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n").read() for language in ("de", "en"))


def bible46_sample() -> str:
    """Every 40th line, from the first on."""
    with lzma.open(DATA / "bible46" / "bible46.txt.xz", "rt", encoding="utf-8", newline="\n") as lines:
        return "".join(line for number, line in enumerate(lines) if number % 40 == 0)


def corpus_fingerprints(name: str, text: str, merges: int) -> dict:
    case = {"vocab_size": merges, "min_frequency": 2, "special_tokens": ["<unk>", "<s>", "</s>"]}
    learned = {words: tokenizers_vocabulary(text, {"words": words, "all_bytes": words == "byte-level", **case}) for words in ("metaspace", "spaces", "whitespace", "byte-level")}
    return {"name": name, "merges": merges, "codes": fingerprint(subword_nmt_codes(text, merges, 2, False)), **{words: fingerprint(vocabulary_text(result)) for words, result in learned.items()}}


def white_space_words() -> list[dict]:
    """A vocabulary whose words are cut at white space, and how golden_lines.py is encoded with it."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Sequence([decoders.Fuse()])
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=300, min_frequency=2, special_tokens=["<unk>"], show_progress=False))
    tokenizer.encode_special_tokens = True
    return [{"tokenizer": tokenizer.to_str(), "lines": [{"text": line, "ids": tokenizer.encode(line).ids} for line in golden_lines(90)]}]


def main() -> None:
    codes, vocabularies = random_cases(60)
    codes += cases_with_repeated_merges(3)
    corpora = [corpus_fingerprints("corpus.txt", (HERE / "corpus.txt").read_text(encoding="utf-8"), 350), corpus_fingerprints("multi30k", multi30k(), 10000), corpus_fingerprints("bible46", bible46_sample(), 3000)]
    with open(HERE / "reproduce.json", "w", encoding="utf-8") as out:
        rows = {name: ",\n".join(json.dumps(row) for row in cases) for name, cases in (("subword_nmt", codes), ("tokenizers", vocabularies), ("corpora", corpora), ("white_space", white_space_words()))}
        out.write("{" + ",\n".join(f'"{name}":[\n{text}\n]' for name, text in rows.items()) + "}\n")


if __name__ == "__main__":
    main()
