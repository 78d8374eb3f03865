#!/usr/bin/env python3
"""Encodes whole texts with Dragoman and with the libraries that the files belong to, and compares the ids line by line: Multi30k, bible46, random Unicode and random bytes. Prints a
table; the exit status is 1 if a line differs. Before that every writer's files of odd corpora and options are opened by their libraries: the exit status is 1 if one is refused. `scripts/test all` runs it where DRAGOMAN_PYTHON names a Python that has the packages.

  python3 check_encodings.py DRAGOMAN [DATA]    # with tokenizers, sentencepiece, tiktoken; DATA has multi30k/ and bible46/, by default ../shared/data
"""
import gzip
import json
import lzma
import pathlib
import random
import subprocess
import sys
import tempfile

import sentencepiece
import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext.openai_public import r50k_pat_str
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

BLOCK = 4096


def texts(data: pathlib.Path):
    """Name and lines as bytes."""
    for path in sorted((data / "multi30k").glob("train.*.gz")):
        yield f"Multi30k {path.name[:-3]}", gzip.open(path).read().split(b"\n")[:-1]
    for path in sorted((data / "bible46").glob("*.xz")):
        yield "bible46", lzma.open(path).read().split(b"\n")[:-1]
    rng = random.Random(1)
    planes = [(0x20, 0x7E), (0x20, 0x20), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x1FFF), (0x2000, 0x2FFF), (0x3040, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF)]
    def text():
        return "".join(chr(rng.randint(*rng.choice(planes))) for _ in range(rng.randint(0, 60)))
    yield "random Unicode", [text().encode() for _ in range(20000)]
    yield "random bytes", [bytes(rng.randrange(256) for _ in range(rng.randint(0, 60))).replace(b"\n", b" ") for _ in range(20000)]


def learn_byte_level(corpora: list[str], special: list[str], path: str) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=16000, min_frequency=2, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    def lines():
        for corpus in corpora:
            with (gzip.open if corpus.endswith(".gz") else open)(corpus, "rt", encoding="utf-8", newline="\n") as text:
                yield from (line.rstrip("\n") for line in text)
    tokenizer.train_from_iterator(lines(), trainer)
    tokenizer.save(path)


def hugging_face(path: str):
    stored = json.loads(pathlib.Path(path).read_text())
    if "merges" in stored["model"]:
        stored["model"]["merges"] = [" ".join(merge) for merge in stored["model"]["merges"]]  # versions before 0.20 know no pairs
    tokenizer = Tokenizer.from_str(json.dumps(stored))
    tokenizer.encode_special_tokens = True
    return lambda lines: [each.ids for each in tokenizer.encode_batch([line.decode() for line in lines], add_special_tokens=False)]


def piece_model(path: str):
    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    return lambda lines: [processor.encode(line) for line in lines]


def ranks(path: str):
    encoding = tiktoken.Encoding("t", pat_str=r50k_pat_str, mergeable_ranks=load_tiktoken_bpe(path), special_tokens={})
    return lambda lines: [encoding.encode_ordinary(line.decode()) for line in lines]


def opens(library: str, path: str) -> str:
    """Opens a file with its library; returns the library's reason if it refuses the file, else nothing."""
    try:
        if library == "sentencepiece":
            sentencepiece.SentencePieceProcessor(model_file=path)
        else:
            Tokenizer.from_file(path)
    except Exception as error:  # whatever the library throws
        return str(error).split("\n")[0] or type(error).__name__
    return ""


# Corpora and options that bring pieces out of the ordinary. Each writer writes a file that its library opens, or refuses to write.
ODD_CORPORA = {
    "plain": b"the river, the 12 rivers\n" * 9, "NUL": b"a\0b a\0b\n" * 9, "controls": bytes(range(1, 32)).replace(b"\n", b"") * 9 + b"\n",
    "marks": "a\u2581b a\u2581b \u241b\u2423\n".encode() * 9, "byte names": b"<0x41> <0x41> <unk> <s>\n" * 9, "no UTF-8": b"a\xff\xfe a\xff\n" * 9,
    "byte order mark": b"\xef\xbb\xbfab ab\n" * 9, "spaces": "a\u00a0b\u3000c a\u2028b\n".encode() * 9}
ODD_OPTIONS = [[], ["--no-byte-fallback"], ["--user-symbol", "xy", "7"], ["--user-symbol", "the river", "12 r"], ["--no-special"], ["--normalization", "nfc"], ["--normalization", "identity"], ["--normalization", "nmt_nfkc"],
               ["--lowercase"], ["--split-digits"], ["--no-word-marks"], ["--no-escape"]]
# The other kinds that `convert` writes are in check_conversions.py.
WRITERS = {"tokenizer-json": ("t.json", "tokenizers"), "sentencepiece": ("t.model", "sentencepiece")}


def check_writers(dragoman: str, folder: pathlib.Path) -> bool:
    """Prints what each writer made of the odd corpora; True if a library refuses a file."""
    print("| writer | written and opened | refused before it is written | refused by the library |\n|---|---|---|---|")
    failed = False
    for kind, (name, library) in WRITERS.items():
        written = refused = 0
        for title, text in ODD_CORPORA.items():
            (folder / "odd").write_bytes(text)
            runs = [["learn-bpe", "--to", kind, *options] for options in ODD_OPTIONS]
            if kind == "sentencepiece":
                runs += [["learn-unigram"], ["learn-unigram", "--no-byte-fallback"], ["learn-unigram", "--normalization", "identity"], ["learn-unigram", "--user-symbol", "the river"]]
            for run in runs:
                (folder / name).unlink(missing_ok=True)
                done = subprocess.run([dragoman, *run, "--quiet", "--vocab-size", "300", "--input", str(folder / "odd"), "--output", str(folder / name)], capture_output=True, text=True)
                if done.returncode != 0:
                    refused += 1
                    continue
                reason = opens(library, str(folder / name))
                written += not reason
                if not reason and run[0] == "learn-unigram":
                    convert = [dragoman, "convert", "--quiet", str(folder / name), "--output", str(folder / "u.json")]
                    if subprocess.run(convert, capture_output=True).returncode == 0:
                        reason = opens("tokenizers", str(folder / "u.json"))
                if reason:
                    failed = True
                    print(f"| {kind} | | | {title}, {' '.join(run)}: {reason} |", flush=True)
        print(f"| {kind} | {written} | {refused} | |", flush=True)
    return failed


def main() -> None:
    dragoman = sys.argv[1]
    data = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parents[4] / "shared" / "data")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        def path(name: str) -> str:
            return str(pathlib.Path(folder) / name)

        def run(*arguments: str) -> None:
            subprocess.run([dragoman, *arguments, "--quiet"], check=True)

        failed = check_writers(dragoman, pathlib.Path(folder))
        corpora = [str(p) for p in sorted((data / "multi30k").glob("train.*.gz"))]
        for xz in (data / "bible46").glob("*.xz"):
            pathlib.Path(path("bible.txt")).write_bytes(b"\n".join(lzma.open(xz).read().split(b"\n")[::7]) + b"\n")
            corpora.append(path("bible.txt"))
        if not corpora:
            print("SKIPPED: no texts in", data)
            return
        run("learn-bpe", "--input", *corpora, "--vocab-size", "16000", "--output", path("bpe.json"))
        learn_byte_level(corpora, ["<unk>"], path("bytes.json"))
        learn_byte_level(corpora, [], path("ranks.json"))
        run("convert", path("ranks.json"), "--to", "tiktoken", "--output", path("ranks.tiktoken"))
        run("learn-bpe", "--to", "sentencepiece", "--normalization", "nmt_nfkc", "--vocab-size", "16000", "--input", *corpora, "--output", path("bpe.model"))
        run("learn-bpe", "--to", "sentencepiece", "--split-digits", "--no-byte-fallback", "--vocab-size", "8000", "--input", *corpora, "--output", path("digits.model"))
        run("learn-unigram", "--vocab-size", "16000", "--input", *corpora, "--output", path("unigram.model"))
        for name in ("bpe", "unigram"):
            run("convert", path(f"{name}.model"), "--output", path(f"{name}_of_model.json"))
        # Which files cannot be given bytes that are no text: their libraries take str.
        files = [("bpe.json", "tokenizers", hugging_face, False), ("bytes.json", "tokenizers", hugging_face, False), ("ranks.tiktoken", "tiktoken", ranks, False),
                 ("bpe.model", "sentencepiece", piece_model, True), ("digits.model", "sentencepiece", piece_model, True), ("unigram.model", "sentencepiece", piece_model, True),
                 ("bpe_of_model.json", "tokenizers", hugging_face, False), ("unigram_of_model.json", "tokenizers", hugging_face, False)]
        print("| text | file | library | lines | ids | lines that differ |\n|---|---|---|---|---|---|")
        of_models = {}  # what the models themselves gave for a text
        for name, lines in texts(data):
            pathlib.Path(path("text")).write_bytes(b"".join(line + b"\n" for line in lines))
            for file, library, load, takes_bytes in files:
                if name == "random bytes" and not takes_bytes:
                    continue
                run("encode", "--tokenizer", path(file), "--format", "ids", "--input", path("text"), "--output", path("ids"))
                ours = pathlib.Path(path("ids")).read_text().split("\n")[:-1]
                theirs = load(path(file))
                different = ids = 0
                for begin in range(0, len(lines), BLOCK):
                    for mine, other in zip(ours[begin:begin + BLOCK], theirs(lines[begin:begin + BLOCK]), strict=True):
                        ids += len(other)
                        different += mine != " ".join(map(str, other))
                failed = failed or different > 0
                print(f"| {name} | {file} | {library} | {len(lines)} | {ids} | {different} |", flush=True)
                if file.endswith(".model"):
                    of_models[file] = ours
                elif file.endswith("_of_model.json"):  # `convert` warns of what is otherwise there
                    others = sum(mine != other for mine, other in zip(ours, of_models[file.replace("_of_model.json", ".model")], strict=True))
                    print(f"| {name} | {file} | its SentencePiece model | {len(lines)} | | {others} |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
