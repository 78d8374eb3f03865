#!/usr/bin/env python3
"""Writes gpt2.json, tiktoken.json and sentencepiece.json, and the tokenizer files that they are about: what the packages that the formats belong to make of
golden_lines.py.

  python3 make_formats_golden.py    # with tokenizers 0.23.3, tiktoken 0.14.0, sentencepiece 0.2.3
"""
import base64
import io
import json

import sentencepiece
import tiktoken
from tiktoken_ext.openai_public import r50k_pat_str
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from golden_lines import CORPUS, HERE, golden_lines

CL100K = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
CL100K_VARIANT = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
# Texts with line ends, which patterns treat in ways of their own; encode() takes them though lines have none.
WITH_LINE_ENDS = ["a\nb", "a\n\n b", "a \n \n  b", "!\n\nb", "\r\n", "a\r\n ", " \n ", "\n a", "x\n\t", "?\r\n\r\n !", "\u3000\n\u3000", "1\n2"]


def rows(lines, encode, decode):
    """One row a line; "decoded" only where it is not the text again."""
    entries = []
    for line in lines:
        row = {"text": line, "ids": encode(line)}
        if decode(row["ids"]) != line:
            row["decoded"] = decode(row["ids"])
        entries.append(json.dumps(row, separators=(",", ":"), ensure_ascii=False))
    return ",\n".join(entries)


def write(name: str, sections: dict[str, str]) -> None:
    with open(HERE / name, "w", encoding="utf-8") as out:
        out.write("{" + ",\n".join(f'"{key}":[\n{value}\n]' for key, value in sections.items()) + "}\n")


def byte_level_model(size: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    return tokenizer


def ids(tokenizer: Tokenizer):
    tokenizer.encode_special_tokens = True
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def gpt2(lines: list[str]) -> None:
    trained = byte_level_model(450)
    model = json.loads(trained.to_str())["model"]
    vocabulary = model["vocab"] | {"<|endoftext|>": len(model["vocab"])}
    (HERE / "gpt2.vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (HERE / "gpt2.merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in model["merges"]), encoding="utf-8")
    sections = {}
    for name, prefix, regex, split in [("plain", False, True, None), ("prefix", True, True, None), ("no_regex", False, False, None), ("cl100k_variant", False, False, CL100K_VARIANT)]:
        tokenizer = Tokenizer(models.BPE.from_file(str(HERE / "gpt2.vocab.json"), str(HERE / "gpt2.merges.txt")))
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)
        tokenizer.pre_tokenizer = byte_level if split is None else pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(split), "isolated"), byte_level])
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_special_tokens(["<|endoftext|>"])
        tokenizer.save(str(HERE / f"byte_level_{name}.tokenizer.json"), pretty=False)
        sections[name] = rows(lines + WITH_LINE_ENDS, ids(tokenizer), tokenizer.decode)
    write("gpt2.json", sections)


def tiktoken_ranks(lines: list[str]) -> None:
    trained = byte_level_model(450)
    alphabet = {character: byte for byte, character in enumerate(byte_characters())}
    ranks = {bytes(alphabet[c] for c in piece): rank for piece, rank in trained.get_vocab().items()}
    # Tokens that merges never make come up only as whole words; pairs that could be made in two ways.
    for token in [b" zqzq", b"qjx", b"aaa", b"aa", b"aaaa", b"aaaaa", b" aaa"]:
        ranks.setdefault(token, len(ranks))
    with open(HERE / "ranks.tiktoken", "w", encoding="ascii") as out:
        for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
            out.write(f"{base64.b64encode(token).decode()} {rank}\n")
    lines = lines + [" zqzq zqzqz qjx qjxq aqjx aaa aaaa aaaaaa  aaaaaaa baaab"] + WITH_LINE_ENDS
    sections = {}
    for name, pattern in [("gpt2", r50k_pat_str), ("cl100k", CL100K), ("cl100k_variant", CL100K_VARIANT)]:
        encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        sections[name] = rows(lines, encoding.encode_ordinary, encoding.decode)
    write("tiktoken.json", sections)


def byte_characters() -> list[str]:
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = iter(range(0x100, 0x200))
    return [chr(byte if byte in visible else next(rest)) for byte in range(256)]


def sentencepiece_models(lines: list[str]) -> None:
    variants = {
        "plain": dict(),
        "keeps_spaces": dict(remove_extra_whitespaces=False),
        "bytes": dict(byte_fallback=True, remove_extra_whitespaces=False, vocab_size=560),
        "no_prefix": dict(add_dummy_prefix=False),
        "across_words": dict(split_by_whitespace=False, remove_extra_whitespaces=False),
    }
    sections = {}
    for name, options in variants.items():
        model = io.BytesIO()
        settings = dict(vocab_size=330, character_coverage=0.99) | options
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS * 3), model_writer=model, model_type="bpe", normalization_rule_name="identity",
                                                 minloglevel=2, **settings)
        (HERE / f"sentencepiece_{name}.model").write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        sections[name] = rows(lines, processor.encode, processor.decode)
    write("sentencepiece.json", sections)


def main() -> None:
    lines = golden_lines()
    gpt2(lines)
    tiktoken_ranks(lines)
    sentencepiece_models(lines)


if __name__ == "__main__":
    main()
