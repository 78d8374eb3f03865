#!/usr/bin/env python3
"""Writes sentencepiece.json: results of sentencepiece 0.2.3 that test_compat_sentencepiece.py expects.

    pip install sentencepiece==0.2.3 && tests/python/golden/make_sentencepiece_golden.py

`results` is what both libraries are asked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent.parent / "tokenizer" / "golden"
NAMES = (
    "sentencepiece_unigram_bytes",
    "sentencepiece_unigram_map",
    "sentencepiece_unigram_no_prefix",
    "sentencepiece_unigram_suffix",
    "sentencepiece_unigram_symbols",
    "sentencepiece_bpe_symbols_bytes",
    "sentencepiece_bpe_map_keeps_spaces",
    "sentencepiece_bpe_unused",
    "sentencepiece_char",
)
TEXTS = (
    "",
    "  ",
    "the river",
    "  The  river, and the hat ",
    "\u2581a\u2581\u2581b",
    "\uff2b\uff21 \ufb01ne \u337b",
    "\U0001f60a na\u00efve <s> <unk>",
    "e\u0301\u85e4\u85e4x",
    "a\tb\r\nc",
)


def results(spm: Any, file: Path) -> dict[str, Any]:
    """Return what the library, or its replacement, says about a model and the texts."""
    sp = spm.SentencePieceProcessor(model_file=str(file))
    size = len(sp)
    ids = [*range(8), *range(8, size, 13)]
    made: dict[str, Any] = {
        "special": [sp.unk_id(), sp.bos_id(), sp.eos_id(), sp.pad_id()],
        "scores": sp.get_score(ids),
        "types": [sp.is_unknown(ids), sp.is_control(ids), sp.is_unused(ids), sp.is_byte(ids)],
        "pieces": sp.encode(list(TEXTS), return_type=str),
        "unknown": sp.encode(list(TEXTS), return_type=str, emit_unk_piece=True, reverse=True),
        "protos": [sp.encode(text, return_type="serialized_proto").hex() for text in TEXTS],
        "offsets": sp.encode(list(TEXTS), return_type="offset_mapping"),
        "byte_offsets": [sp.encode(text.encode(), return_type="offset_mapping")["offsets"] for text in TEXTS],
        "normalized": sp.normalize(list(TEXTS), with_offsets=True),
        "decoded": [sp.decode(pair) for pair in zip(ids, reversed(ids))],
        "decoded_protos": [
            sp.decode([i, (i * 7) % size, size - 1 - i], return_type="serialized_proto").hex() for i in ids
        ],
    }
    pieces = sp.encode(list(TEXTS), return_type=str)
    made["decoded_pieces"] = sp.decode(pieces, return_type="offset_mapping")
    if "unigram" in file.name:
        made["best"] = [sp.nbest_encode(text, nbest_size=3, return_type=str) for text in TEXTS]
        made["best_protos"] = [
            sp.nbest_encode(text, nbest_size=n, return_type="serialized_proto").hex() for text in TEXTS for n in (1, 3)
        ]
    # Tuples become lists, as in the file.
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


def main() -> None:
    import sentencepiece  # type: ignore[import-not-found]

    golden = {name: results(sentencepiece, MODELS / f"{name}.model") for name in NAMES}
    content = {"version": sentencepiece.__version__, "models": golden}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    (HERE / "sentencepiece.json").write_text(text.replace('},"sentence', '},\n"sentence') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
