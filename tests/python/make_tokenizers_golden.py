#!/usr/bin/env python3
"""Writes golden/tokenizers.json: what the package `tokenizers` gives, for test_compat_tokenizers.py.

    python3 tests/python/make_tokenizers_golden.py    # with tokenizers 0.23.3
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Encoding, Tokenizer, decoders, models
from tokenizers import normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).resolve().parent
CORPUS = [
    "Two men are at the stove preparing food.",
    "A man in green holds a guitar while the other man observes his shirt.",
    "A man is smiling at a stuffed lion.",
    "A trendy girl talking on her cellphone while gliding slowly down the street.",
    "Zwei Männer stehen am Herd und bereiten Essen zu.",
    "Ein Mann in Grün hält eine Gitarre, während der andere Mann sein Hemd ansieht.",
    "Ein schickes Mädchen spricht mit dem Handy, während sie langsam die Straße entlangschwebt.",
] * 3
TEXTS = [
    "Two men, smiling.",
    "  Zwei  Männer…",
    "",
    "A <mask>girl<mask> [SEP] naïve\u0301 \ufb01ne 一二",
    "gliding slowly down the street 12345!",
    "\t😀 é\n",
]


def trained(model: Any, trainer: Any, **parts: Any) -> Tokenizer:
    tokenizer = Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def tokenizers() -> dict[str, Tokenizer]:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    bert = trained(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(vocab_size=130, special_tokens=special, show_progress=False),
        normalizer=normalizers.BertNormalizer(),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(),
        decoder=decoders.WordPiece(),
    )
    bert.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    roberta = trained(
        models.BPE(),
        trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=["<s>", "</s>", "<mask>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True),
        decoder=decoders.ByteLevel(),
    )
    roberta.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    roberta.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    llama = trained(
        models.BPE(unk_token="<unk>", fuse_unk=True),
        trainers.BpeTrainer(vocab_size=150, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False),
        normalizer=normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        ),
        decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
    )
    llama.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A </s>:1 $B:1", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    plain = trained(
        models.BPE(),
        trainers.BpeTrainer(vocab_size=120, limit_alphabet=30, show_progress=False),
        pre_tokenizer=pre_tokenizers.Whitespace(),
    )
    plain.add_tokens(["man", AddedToken("girl", single_word=True)])
    return {"bert": bert, "roberta": roberta, "llama": llama, "plain": plain}


COLUMNS = ("ids", "tokens", "offsets", "word_ids", "type_ids", "special_tokens_mask", "attention_mask", "sequence_ids")


def shown(encoding: Encoding, columns: tuple[str, ...] = COLUMNS) -> dict[str, Any]:
    made: dict[str, Any] = {name: getattr(encoding, name) for name in columns}
    made["overflowing"] = [shown(each, ("ids", "type_ids", "sequence_ids")) for each in encoding.overflowing]
    return made


def settings(chance: random.Random) -> dict[str, Any]:
    truncation = {
        "max_length": chance.choice([7, 9, 12]),
        "stride": chance.choice([0, 1]),
        "direction": chance.choice(["left", "right"]),
    }
    padding = chance.choice([None, {}, {"length": 14, "direction": "left"}, {"pad_to_multiple_of": 4, "pad_id": 1}])
    return {"truncation": chance.choice([None, truncation]), "padding": padding}


def cases(tokenizer: Tokenizer, chance: random.Random) -> list[dict[str, Any]]:
    made = []
    for number in range(3):
        given = {"truncation": None, "padding": None} if number == 0 else settings(chance)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if given["truncation"] is not None:
            tokenizer.enable_truncation(**given["truncation"])
        if given["padding"] is not None:
            tokenizer.enable_padding(**given["padding"])
        batch: list[Any] = [*TEXTS, (TEXTS[0], TEXTS[4])]
        encodings = tokenizer.encode_batch(batch)
        words = tokenizer.encode(TEXTS[4].split(), is_pretokenized=True, add_special_tokens=False)
        made.append(
            {
                **given,
                "batch": batch,
                "encodings": [shown(each) for each in encodings],
                "decoded": [tokenizer.decode(each.ids, skip_special_tokens=number % 2 == 0) for each in encodings],
                "words": shown(words),
            }
        )
    return made


def main() -> None:
    made = {}
    for name, tokenizer in tokenizers().items():
        content = tokenizer.to_str()
        made[name] = {"tokenizer": content, "cases": cases(tokenizer, random.Random(5))}
    lines = []
    for name, section in made.items():
        rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in section["cases"])
        head = json.dumps({"tokenizer": section["tokenizer"]})[:-1]
        lines.append(f'"{name}": {head}, "cases": [\n{rows}]}}')
    (HERE / "golden").mkdir(exist_ok=True)
    (HERE / "golden" / "tokenizers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
