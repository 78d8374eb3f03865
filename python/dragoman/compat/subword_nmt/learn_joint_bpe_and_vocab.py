"""Learning joint codes of several texts, and the vocabulary of each."""

from __future__ import annotations

import argparse
from collections import Counter

from . import apply_bpe, learn_bpe
from ._common import open_text, refuse_bytes, split_lines, words_of


def learn_joint_bpe_and_vocab(args: argparse.Namespace) -> None:
    """Learn joint codes, and write the vocabulary of each text after it was segmented.

    Parameters
    ----------
    args
        `input` and `vocab`: as many files for each; `output`: the file of the codes. `symbols`, `min_frequency`,
        `separator` (bytes or str), `total_symbols` and `verbose` as in the program.
    """
    refuse_bytes(getattr(args, "byte", False))
    if len(args.input) != len(args.vocab):
        raise ValueError("the numbers of input files and vocabulary files must match")
    counts: Counter[str] = Counter()
    for each in args.input:
        with open_text(each) as text:
            counts += learn_bpe.get_vocabulary(split_lines(text))
    with open_text(args.output, "w") as codes:
        learn_bpe.learn_bpe(
            (f"{word} {count}" for word, count in counts.items()),
            codes,
            args.symbols,
            args.min_frequency,
            getattr(args, "verbose", False),
            is_dict=True,
            total_symbols=getattr(args, "total_symbols", False),
        )
    separator = args.separator.decode("utf-8") if isinstance(args.separator, bytes) else args.separator
    with open_text(args.output) as codes:
        bpe = apply_bpe.BPE(codes, separator=separator)
    for source, target in zip(args.input, args.vocab):
        with open_text(source) as text, open_text(target, "w") as vocabulary:
            pieces = Counter(words_of(split_lines(bpe.process_line(line) for line in text)))
            for piece, count in pieces.most_common():
                vocabulary.write(f"{piece} {count}\n")
