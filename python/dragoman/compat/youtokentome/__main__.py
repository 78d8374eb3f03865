"""The command `yttm` of youtokentome, with its options."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Iterable, Iterator

from . import BPE, OutputType


def _ids(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="yttm", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    bpe = commands.add_parser("bpe", help="learn a vocabulary")
    bpe.add_argument("--data", required=True, help="the text file")
    bpe.add_argument("--model", required=True, help="the file to write")
    bpe.add_argument("--vocab_size", required=True, type=int, help="the number of pieces")
    bpe.add_argument("--coverage", type=float, default=1.0, help="the share of characters that become pieces")
    for name, default in {"n_threads": -1, "pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}.items():
        bpe.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
    encode = commands.add_parser("encode", help="encode the lines of standard input")
    encode.add_argument("--model", required=True, help="the model file")
    encode.add_argument("--output_type", required=True, choices=["id", "subword"])
    encode.add_argument("--n_threads", type=int, default=-1, help="-1: all that the process may use")
    for name in ("bos", "eos", "reverse", "stream"):
        encode.add_argument(f"--{name}", action="store_true")
    encode.add_argument("--dropout_prob", type=float, default=0, help="the probability that a merge is skipped")
    decode = commands.add_parser("decode", help="decode the lines of ids of standard input")
    decode.add_argument("--model", required=True, help="the model file")
    decode.add_argument("--ignore_ids", type=_ids, help="ids to leave out: 1,2,3")
    vocab = commands.add_parser("vocab", help="print the pieces")
    vocab.add_argument("--model", required=True, help="the model file")
    vocab.add_argument("--verbose", action="store_true", help="print the merges, too")
    return parser


def _lines() -> Iterator[str]:
    """Yield the lines of standard input. Bytes that are not UTF-8 are left out, with a warning."""
    warned = False
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            if not warned:
                print(f"yttm: line {number}: bytes that are not UTF-8 are left out, here and below", file=sys.stderr)
            warned = True
            yield line.decode("utf-8", "ignore")


def _batches(lines: Iterable[str], size: int) -> Iterable[list[str]]:
    batch: list[str] = []
    for line in lines:
        batch.append(line.rstrip("\n"))
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _encode(options: argparse.Namespace) -> None:
    bpe = BPE(options.model, options.n_threads)
    kind = OutputType.ID if options.output_type == "id" else OutputType.SUBWORD
    for batch in _batches(_lines(), 1 if options.stream else 10000):
        encoded = bpe.encode(batch, kind, options.bos, options.eos, options.reverse, options.dropout_prob)
        sys.stdout.writelines("".join(f"{each} " for each in line) + "\n" for line in encoded)
        if options.stream:
            sys.stdout.flush()


def _decode(options: argparse.Namespace) -> None:
    bpe = BPE(options.model)
    for line in _lines():
        print(bpe.decode([[int(each) for each in line.split()]], options.ignore_ids)[0])


def _merges(model: str) -> dict[int, tuple[int, int]]:
    """Return the parts of each merged piece."""
    with open(model, encoding="ascii") as file:
        characters, merges = map(int, file.readline().split())
        rows = [[int(each) for each in file.readline().split()] for _ in range(characters + merges)]
    return {result: (left, right) for left, right, result in rows[characters:]}


def _vocab(options: argparse.Namespace) -> None:
    bpe = BPE(options.model)
    merges = _merges(options.model) if options.verbose else {}
    pieces = bpe.vocab()
    for id, piece in enumerate(pieces):
        line = f"{id}\t{piece}"
        if id in merges:
            left, right = merges[id]
            parts = f"{piece}={pieces[left]}+{pieces[right]}"
            line = f"{id}\t{parts}" + " " * max(2, 50 - len(parts)) + f"{left}+{right}"
        print(line)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    options = _parser().parse_args(arguments)
    if options.command == "bpe":
        values: dict[str, Any] = {key: value for key, value in vars(options).items() if key != "command"}
        BPE.train(**values)
    else:
        {"encode": _encode, "decode": _decode, "vocab": _vocab}[options.command](options)


if __name__ == "__main__":
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"yttm: {error}")
