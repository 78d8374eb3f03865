#!/usr/bin/env python3
"""Writes precompiled.json and the tokenizer.json files that it is about, with the steps that files converted from SentencePiece have: the normalizer Precompiled, and Metaspace as pre-tokenizer
and decoder; ids and decoded text are those of Hugging Face tokenizers.

  python3 make_precompiled_golden.py    # with tokenizers 0.23.3, sentencepiece 0.2.3 and protobuf
"""
import json

from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import make_unigram_golden
from golden_lines import CORPUS, HERE, golden_lines

LINES = make_unigram_golden.LINES + [
    "A\u0301", "A\u0301\u0302", "A\u030a\u0301", "e\u0301\u0302", "e\u0302\u0301", "\u0600A", "\u0600\u0600A", "\uac00\u0301", "\u1112\u1161\u11ab A", "\U0001F1E9\U0001F1EA\U0001F1EB", "\u00a9\u200d\u00ae A",
    "\u200dA", "\r\nA\r", "\t\u0301", "\u3000\u0301", "\u00bd\u0301", "\u00ad\u0301", "\u0001\u0301A", "the\u0301 the \u0301", "\u2026\ufe0f", "A\ufe0f", "A\u200d", "A\u0e33", "\u0915\u094d\u0937",
    "\ufb01\u0301", "<sep>the<sep> the", "  <sep>", "<sep>", "\u2581<sep>\u2581the", "the <pad> A<pad>", "\u3000", "  ", " \u2581", "A\u0000",
]


def character_map() -> bytes:
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString((HERE / "sentencepiece_bpe_map.model").read_bytes())
    return model.normalizer_spec.precompiled_charsmap


def train(scheme: str, split: bool, squeezes: bool) -> Tokenizer:
    precompiled = normalizers.Precompiled(character_map())
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([precompiled, normalizers.Replace(Regex(" {2,}"), " ")]) if squeezes else precompiled
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme, split=split)
    trainer = trainers.BpeTrainer(vocab_size=300, min_frequency=2, show_progress=False, special_tokens=["<unk>", "<pad>"])
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    tokenizer.add_tokens([AddedToken("<sep>", normalized=False, special=False)])
    tokenizer.encode_special_tokens = True
    return tokenizer


def main() -> None:
    sections = []
    lines = golden_lines()[::3] + LINES
    for name, settings in {"always": ("always", True, False), "first": ("first", True, True), "never": ("never", False, True)}.items():
        tokenizer = train(*settings)
        tokenizer.save(str(HERE / f"precompiled_{name}.tokenizer.json"))
        rows = []
        for line in lines:
            ids = tokenizer.encode(line, add_special_tokens=False).ids
            rows.append(json.dumps({"text": line, "ids": ids, "decoded": tokenizer.decode(ids)}, separators=(",", ":"), ensure_ascii=False))
        sections.append(f'"{name}":[\n' + ",\n".join(rows) + "\n]")
    (HERE / "precompiled.json").write_text("{" + ",\n".join(sections) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
