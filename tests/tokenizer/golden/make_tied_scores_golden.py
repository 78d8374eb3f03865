#!/usr/bin/env python3
"""Writes sentencepiece_bpe_tied.model, a model of type BPE that was extended by pieces of score 0, as people extend models, and tied_scores.json: what the SentencePiece library
makes of lines with it. Extensions in which a piece of score 0 is made of another, of the first learned piece (score 0 as well), or shares a neighbour with one, are among them.

  python3 make_tied_scores_golden.py    # with sentencepiece 0.2.3
"""
import json
import random

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from golden_lines import HERE, golden_lines

MODEL = HERE / "sentencepiece_bpe_tied.model"


def main() -> None:
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString((HERE / "sentencepiece_plain.model").read_bytes())
    known = {piece.piece for piece in proto.pieces}
    for text in ["\u2581riverside", "\u2581rivers", "\u2581thesis", "\u2581thes", "hat", "tha", "\u2581interpreters", "erer", "songsong", "\u2581song", "ang", "ngs", "verb", "\u2581her"]:
        if text not in known:
            proto.pieces.add(piece=text, score=0.0)
    MODEL.write_bytes(proto.SerializeToString())
    processor = sentencepiece.SentencePieceProcessor(model_file=str(MODEL))
    rng = random.Random(5)
    words = ["riverside", "rivers", "thesis", "theses", "hathat", "thathat", "that", "interpreters", "ererer", "songsongs", "songs", "angst", "hangs", "verbs", "river", "her", "herbs", "adverbs"]
    lines = golden_lines(150) + [" ".join(rng.choice(words) for _ in range(rng.randint(1, 8))) for _ in range(60)]
    lines += ["".join(rng.choice(["hat", "tha", "er", "ang", "ngs", "song", "ver", "b", " the", " her"]) for _ in range(rng.randint(2, 9))) for _ in range(90)]
    rows = [{"text": line, "ids": processor.encode(line)} for line in lines]
    (HERE / "tied_scores.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
