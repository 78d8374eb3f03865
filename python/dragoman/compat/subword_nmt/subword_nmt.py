"""The program `subword-nmt`, with its commands and options."""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
from typing import IO, Iterator, Optional, Sequence

from ._common import refuse_bytes
from .apply_bpe import BPE, get_byte_mode, read_vocabulary
from .get_vocab import get_vocab
from .learn_bpe import learn_bpe
from .learn_joint_bpe_and_vocab import learn_joint_bpe_and_vocab

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="subword-nmt", description="learns and applies byte pair encoding")
    commands = parser.add_subparsers(dest="command", required=True)
    learn = commands.add_parser("learn-bpe", help="learn codes from a text")
    _add_files(learn)
    _add_learning(learn)
    learn.add_argument("--dict-input", action="store_true", help="the input has a word, a space and a count per line")
    apply = commands.add_parser("apply-bpe", help="apply codes to a text")
    _add_files(apply)
    apply.add_argument("--codes", "-c", required=True, metavar="PATH", help="the codes")
    apply.add_argument("--merges", "-m", type=int, default=-1, help="how many of the merges to use; -1: all")
    apply.add_argument("--separator", "-s", default="@@", help="the mark of pieces that do not end their word")
    apply.add_argument("--vocabulary", metavar="PATH", help="the pieces that may be produced, with their counts")
    apply.add_argument("--vocabulary-threshold", type=int, help="the least count of a piece that may be produced")
    apply.add_argument("--dropout", type=float, default=0, metavar="P", help="the probability that a merge is skipped")
    apply.add_argument("--glossaries", nargs="+", help="regular expressions, whose matches stay whole")
    apply.add_argument("--seed", type=int, help="the seed of --dropout")
    apply.add_argument("--num-workers", type=int, default=1, help="has no effect")
    vocab = commands.add_parser("get-vocab", help="count the words of a text")
    _add_files(vocab)
    joint = commands.add_parser("learn-joint-bpe-and-vocab", help="learn joint codes of texts, and their vocabularies")
    joint.add_argument("--input", "-i", nargs="+", required=True, metavar="PATH", help="the texts")
    joint.add_argument("--output", "-o", required=True, metavar="PATH", help="the codes")
    joint.add_argument("--separator", default="@@", help="the mark of pieces that do not end their word")
    joint.add_argument("--write-vocabulary", nargs="+", required=True, metavar="PATH", help="one file for each text")
    _add_learning(joint)
    return parser


def _add_files(command: argparse.ArgumentParser) -> None:
    command.add_argument("--input", "-i", metavar="PATH", help="the text; by default standard input")
    command.add_argument("--output", "-o", metavar="PATH", help="the result; by default standard output")


def _add_learning(command: argparse.ArgumentParser) -> None:
    command.add_argument("--symbols", "-s", type=int, default=10000, help="the number of merges; default: 10000")
    command.add_argument("--min-frequency", type=int, default=2, help="learning ends at rarer pairs; default: 2")
    command.add_argument("--byte", "-b", action="store_true", help="not supported: codes of bytes")
    command.add_argument("--total-symbols", "-t", action="store_true", help="count the characters as symbols, too")
    command.add_argument("--num-workers", type=int, default=1, help="has no effect")
    command.add_argument("--verbose", "-v", action="store_true", help="print the merges to standard error")


@contextlib.contextmanager
def _opened(path: Optional[str], standard: IO[str], mode: str = "r") -> Iterator[IO[str]]:
    if path is None:
        yield standard
        standard.flush()
    else:
        with open(path, mode, encoding="utf-8", newline="\n") as file:
            yield file


def _run(options: argparse.Namespace) -> None:
    if options.command == "learn-joint-bpe-and-vocab":
        with contextlib.ExitStack() as files:
            options.input = [files.enter_context(open(path, encoding="utf-8")) for path in options.input]
            options.output = files.enter_context(open(options.output, "w", encoding="utf-8"))
            vocabularies = (open(path, "w", encoding="utf-8") for path in options.write_vocabulary)
            options.vocab = [files.enter_context(file) for file in vocabularies]
            learn_joint_bpe_and_vocab(options)
        return
    if options.command == "apply-bpe":
        refuse_bytes(get_byte_mode(options.codes))
    with _opened(options.input, sys.stdin) as text, _opened(options.output, sys.stdout, "w") as output:
        if options.command == "get-vocab":
            get_vocab(text, output)
        elif options.command == "learn-bpe":
            learn_bpe(
                text,
                output,
                options.symbols,
                options.min_frequency,
                options.verbose,
                is_dict=options.dict_input,
                is_bytes=options.byte,
                total_symbols=options.total_symbols,
            )
        else:
            _apply(options, text, output)


def _apply(options: argparse.Namespace, text: IO[str], output: IO[str]) -> None:
    vocabulary = None
    if options.vocabulary is not None:
        with open(options.vocabulary, encoding="utf-8", newline="\n") as file:
            vocabulary = read_vocabulary(file, options.vocabulary_threshold)
    with open(options.codes, encoding="utf-8", newline="\n") as codes:
        bpe = BPE(codes, options.merges, options.separator, vocabulary, options.glossaries)
    if options.seed is not None:
        random.seed(options.seed)
    for line in text:
        output.write(bpe.process_line(line, options.dropout))


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Run the program. Standard input and output are UTF-8, with lines that end at LF."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    try:
        _run(options)
    except (OSError, ValueError, NotImplementedError) as error:
        sys.exit(f"subword-nmt: {error}")


if __name__ == "__main__":
    main()
