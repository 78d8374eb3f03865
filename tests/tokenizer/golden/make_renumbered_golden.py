#!/usr/bin/env python3
"""Writes renumbered.json: the ids that the tokenizers of translation models give whose vocabulary is a list beside a SentencePiece model: MarianTokenizer, NllbTokenizer,
MBart50Tokenizer and M2M100Tokenizer of the library transformers, over models of this folder. Each case has the list as `renumber_sentencepiece()` takes it.

  python3 make_renumbered_golden.py    # with transformers 4.44.2 and sentencepiece 0.2.3
"""
import json
import pathlib
import random
import tempfile

import sentencepiece
from transformers import M2M100Tokenizer, MarianTokenizer, MBart50Tokenizer, NllbTokenizer
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M_CODES

from golden_lines import HERE, golden_lines

SPECIAL = ("<s>", "</s>", "<unk>", "<pad>", "<mask>", "__", ">>")
# Before they look for special tokens, the libraries' tokenizers take white space off that a model might keep.
LINES = [line for line in golden_lines(260) if not any(token in line for token in SPECIAL)]


def pieces_of(model: str) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(HERE / model))
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def rows(tokenizer, lines: list[str], **names) -> list[dict]:
    result = []
    for line in lines:
        ids = tokenizer(**{next(iter(names), "text"): line}, add_special_tokens=False).input_ids
        result.append({"text": line, "ids": ids})
    return result


def case(name: str, model: str, pieces: list[str], control: list[str], special: dict, listed: bool, made: list[dict]) -> dict:
    types = {piece: "control" for piece in control}
    assert len(set(pieces)) == len(pieces)
    return {"name": name, "model": model, "pieces": [[piece, types.get(piece)] for piece in pieces], "special": special, "listed": listed, "rows": made}


def marian(folder: pathlib.Path) -> list[dict]:
    """OPUS-MT: one vocabulary for both sides, which has not all pieces of either."""
    source, target = "sentencepiece_unigram_plain.model", "sentencepiece_unigram_map.model"
    rng = random.Random(3)
    union = sorted((set(pieces_of(source)) | set(pieces_of(target))) - {"<unk>", "<s>", "</s>"})
    rng.shuffle(union)
    # Characters that the source model does not know, alone and in a row, are found in the list as texts.
    kept = [piece for piece in union if rng.random() < 0.9] + ["\U0001F600", "\u2655", "\u4e00\u4e8c"]
    pieces = ["</s>", "<unk>"] + list(dict.fromkeys(kept)) + [">>fra<<", ">>deu<<", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}), encoding="utf-8")
    tokenizer = MarianTokenizer(source_spm=str(HERE / source), target_spm=str(HERE / target), vocab=str(folder / "vocab.json"))
    special = {"unknown": 1, "end": 0, "padding": len(pieces) - 1}
    codes = [">>fra<<", ">>deu<<"]
    lines = LINES + [">>fra<< the river", ">>deu<<the  river", ">>fra<<", "\u2655", "a\u2655", "\u2655\u2655", "\u4e00\u4e8c", "\u4e00 \u4e8c", "the \u4e00\u4e8c"]
    return [case("marian source", source, pieces, codes, special, True, rows(tokenizer, lines)), case("marian target", target, pieces, codes, special, True, rows(tokenizer, LINES, text_target=1))]


def fairseq(spm: list[str], codes: list[str]) -> list[str]:
    return ["<s>", "<pad>", "</s>", "<unk>"] + spm[3:] + codes + ["<mask>"]


FAIRSEQ_SPECIAL = {"unknown": 3, "begin": 0, "end": 2, "padding": 1}


def moved(name: str, model: str, kind, codes: list[str], **options) -> dict:
    """fairseq's order: its own special pieces, the model's, language codes, and at last the mask."""
    tokenizer = kind(str(HERE / model), **options)
    pieces = fairseq(pieces_of(model), codes)
    # Of a model without a list of added tokens NllbTokenizer puts the mask in front of the codes; in published ones it stands behind them.
    pieces[-len(codes) - 1:] = sorted(pieces[-len(codes) - 1:], key=tokenizer.convert_tokens_to_ids)
    for i in [0, 1, 2, 3, 10, len(pieces) - 3, len(pieces) - 2, len(pieces) - 1]:
        assert tokenizer.convert_tokens_to_ids(pieces[i]) == i, (name, i, pieces[i], tokenizer.convert_tokens_to_ids(pieces[i]))
    return case(name, model, pieces, codes + ["<mask>"], FAIRSEQ_SPECIAL, False, rows(tokenizer, LINES))


def m2m(folder: pathlib.Path) -> dict:
    model = "sentencepiece_plain.model"
    rng = random.Random(4)
    kept = [piece for piece in pieces_of(model)[3:] if rng.random() < 0.95]
    rng.shuffle(kept)
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>"] + kept
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(vocabulary)}), encoding="utf-8")
    tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(HERE / model))
    codes = [f"__{code}__" for code in M2M_CODES["m2m100"]]
    made_up = [f"madeupword{i:04d}" for i in range(8)]
    assert tokenizer.convert_tokens_to_ids(codes) == list(range(len(vocabulary), len(vocabulary) + len(codes)))
    return case("m2m100", model, vocabulary + codes + made_up, codes + made_up, FAIRSEQ_SPECIAL, True, rows(tokenizer, LINES))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES as MBART_CODES
        from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB_CODES
        cases = marian(folder) + [
            moved("nllb", "sentencepiece_plain.model", NllbTokenizer, list(NLLB_CODES)),
            moved("mbart50", "sentencepiece_unigram_map.model", MBart50Tokenizer, list(MBART_CODES)),
            m2m(folder),
        ]
    with open(HERE / "renumbered.json", "w", encoding="utf-8") as out:
        out.write("[\n" + ",\n".join(json.dumps(entry) for entry in cases) + "\n]\n")


if __name__ == "__main__":
    main()
