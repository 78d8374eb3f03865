#!/usr/bin/env python3
"""Writes learned_unigram.json and the models that it is about: what `dragoman learn-unigram` makes of corpus.txt, the ids that the SentencePiece library gives with
these models, and how many pieces of which score a model of its own trainer, with the same options, makes of the text.

  python3 make_learned_unigram_golden.py DRAGOMAN    # with sentencepiece 0.2.3
"""
import io
import json
import subprocess
import sys

import sentencepiece

from golden_lines import CORPUS, HERE, golden_lines

VARIANTS = {
    "plain": (220, ["--no-byte-fallback"], {}),
    "bytes": (520, ["--user-symbol", "<sep>", "river", "--keep-extra-spaces"], dict(byte_fallback=True, user_defined_symbols=["<sep>", "river"], remove_extra_whitespaces=False)),
}
LINES = ["a<sep>b", "<sep><sep> the<sep>", "river", "xriverx the river", "<s> </s>"]


def main() -> None:
    variants = []
    for name, (size, options, theirs) in VARIANTS.items():
        path = HERE / f"learned_unigram_{name}.model"
        subprocess.run([sys.argv[1], "learn-unigram", "--quiet", "--normalization", "identity", "--input", HERE / "corpus.txt", "--vocab-size", str(size), "--character-coverage", "1",
                        "--output", path] + options, check=True)
        ours = sentencepiece.SentencePieceProcessor(model_file=str(path))
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=model, minloglevel=2, model_type="unigram", vocab_size=size, character_coverage=1.0,
                                                 normalization_rule_name="identity", hard_vocab_limit=False, **theirs)
        trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        ids = [i for line in CORPUS for i in trained.encode(line)]
        variants.append({"model": path.name, "vocab_size": size, "trained": {"pieces": len(ids), "score": sum(trained.get_score(i) for i in ids)},
                         "rows": [{"text": line, "ids": ours.encode(line)} for line in golden_lines(150) + LINES]})
    (HERE / "learned_unigram.json").write_text(json.dumps({"variants": variants}, ensure_ascii=False, separators=(",", ":")).replace('{"text"', '\n{"text"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
