"""Learning BPE vocabularies and encoding with them, against other tokenizers."""
import filecmp
import itertools
import json
import os
import pathlib
import statistics
import sys

from rivals.process import DATA, DRAGOMAN, RIVALS, measure, python_with, run

YTTM_MAIN = r"""
#include "youtokentome/cpp/bpe.h"
#include <cstdlib>
#include <cstring>
#include <iostream>
int main(int argc, char** argv) {
  vkcom::Status status;
  if (argc == 6 && !std::strcmp(argv[1], "learn")) {
    vkcom::BpeConfig config;
    config.n_threads = std::atoi(argv[5]);
    config.special_tokens = vkcom::SpecialTokens(0, 1, 2, 3);
    status = vkcom::train_bpe(argv[2], argv[3], std::atoi(argv[4]), config);
  } else if (argc == 4 && !std::strcmp(argv[1], "encode")) {
    std::ios::sync_with_stdio(false);
    vkcom::BaseEncoder encoder(argv[2], std::atoi(argv[3]), &status);
    if (status.ok()) status = encoder.encode_cli("id", false);
  } else {
    return 2;
  }
  if (!status.ok()) std::cerr << status.error_message() << "\n";
  return status.ok() ? 0 : 1;
}
"""

SENTENCEPIECE = r"""
import sys, sentencepiece
if sys.argv[1] == "learn":
    corpus, model, size, threads = sys.argv[2:6]
    sentencepiece.SentencePieceTrainer.train(input=corpus, model_prefix=model[:-6], vocab_size=int(size), model_type="bpe",
        num_threads=int(threads), character_coverage=1.0, byte_fallback=True, normalization_rule_name="identity",
        split_by_unicode_script=False, split_by_number=False, max_sentencepiece_length=512, max_sentence_length=1 << 30, minloglevel=2)
else:
    model, threads = sys.argv[2:4]
    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    lines = sys.stdin.read().split("\n")[:-1]
    for ids in processor.encode(lines, num_threads=int(threads)):
        sys.stdout.write(" ".join(map(str, ids)) + "\n")
"""

TIKTOKEN = r"""
import sys, tiktoken, tiktoken.load
pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"  # as gpt2, but possessive: much faster
encoding = tiktoken.Encoding("shared", pat_str=pattern, mergeable_ranks=tiktoken.load.load_tiktoken_bpe(sys.argv[2]), special_tokens={})
lines = sys.stdin.read().split("\n")[:-1]
for ids in encoding.encode_ordinary_batch(lines, num_threads=int(sys.argv[3])):
    sys.stdout.write(" ".join(map(str, ids)) + "\n")
"""

TOKENIZERS = r"""
import os, sys
os.environ["RAYON_NUM_THREADS"] = sys.argv[-1]
import tokenizers
if sys.argv[1] == "learn":
    corpus, model, size = sys.argv[2:5]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.train([corpus], tokenizers.trainers.BpeTrainer(vocab_size=int(size), special_tokens=["<unk>", "<s>", "</s>"], show_progress=False))
    tokenizer.save(model)
else:
    tokenizer = tokenizers.Tokenizer.from_file(sys.argv[2])
    tokenizer.encode_special_tokens = True
    lines = sys.stdin.read().split("\n")[:-1]
    for encoding in tokenizer.encode_batch_fast(lines, add_special_tokens=False):
        sys.stdout.write(" ".join(map(str, encoding.ids)) + "\n")
"""


# Its files are split at line feeds, as ours are. Its cache is as empty as ours at the start; loading it does not count.
GIGATOKEN = r"""
import os, sys, time
os.environ["RAYON_NUM_THREADS"] = sys.argv[3]
import gigatoken
is_json = open(sys.argv[2], "rb").read(1) == b"{"
tokenizer = gigatoken.Tokenizer(sys.argv[2]) if is_json else gigatoken.Tokenizer.from_sentencepiece(sys.argv[2])
source = gigatoken.TextFileSource([sys.argv[4]], separator=b"\n")
begin = time.perf_counter(), time.process_time()
encoded = tokenizer.encode_files(source)
print(time.perf_counter() - begin[0], time.process_time() - begin[1], file=sys.stderr)
if len(sys.argv) > 5:
    for ids in encoded.to_list():
        sys.stdout.write(" ".join(map(str, ids)) + "\n")
"""


def built_yttm():
    program = RIVALS / "yttm/yttm"
    if not program.exists():
        folder = pathlib.Path(os.environ.get("YTTM_SOURCE", RIVALS / "yttm-source"))
        if not folder.exists():
            run(["git", "clone", "--quiet", "--depth", "1", "https://github.com/VKCOM/YouTokenToMe", folder])
        program.parent.mkdir(parents=True, exist_ok=True)
        main = program.parent / "main.cpp"
        main.write_text(YTTM_MAIN)
        run(["g++", "-std=c++17", "-pthread", "-O3", "-march=native", f"-I{folder}", "-o", program, main,
             *sorted((folder / "youtokentome/cpp").glob("*.cpp"))])
    return [program]


def installed_wheel(name, script):
    python = python_with(name)
    path = RIVALS / f"run_{name}.py"  # a script of the name itself would be imported in place of the wheel
    path.write_text(script)
    return [python, path]


class Rival:
    def __init__(self, name, prepare, shared_as=None, times_itself=False):
        self.name = name
        self.prepare = prepare
        self.times_itself = times_itself  # without loading; it reads the corpus from its file, and writes ids only if told to
        self.shared_as = shared_as  # the kind of file in which it loads our vocabulary and must give the same ids
        self.model = RIVALS / f"{name}.model"
        self.shared = RIVALS / f"{name}.shared"

    def learn(self, arguments):
        return [*self.program, "learn", arguments.corpus, self.model, arguments.vocab_size, arguments.threads]

    def encode(self, arguments, shared, writes=False):
        command = [*self.program, "encode", self.shared if shared else self.model, arguments.threads]
        return command + ([arguments.corpus] + ["ids"] * writes if self.times_itself else [])

    def measure(self, command, stdin, stdout):
        if not self.times_itself:
            return measure(command, stdin, stdout)
        messages = []
        memory = measure(command, None, stdout, messages=messages)[2]
        return (*map(float, messages[0].split()[-2:]), memory)


KNOWN = {
    "yttm": Rival("yttm", built_yttm),
    "sentencepiece": Rival("sentencepiece", lambda: installed_wheel("sentencepiece", SENTENCEPIECE), "sentencepiece"),
    "tokenizers": Rival("tokenizers", lambda: installed_wheel("tokenizers", TOKENIZERS), "tokenizer-json"),
    "tiktoken": Rival("tiktoken", lambda: installed_wheel("tiktoken", TIKTOKEN), "tiktoken"),
    "gigatoken": Rival("gigatoken", lambda: installed_wheel("gigatoken", GIGATOKEN), "tokenizer-json", times_itself=True),
}


def alternate(rival, ours, theirs, runs, stdin, files):
    """Runs both in turn; the medians of each."""
    figures = ([], [])
    for _ in range(runs):
        for command, kept, file in zip((ours, theirs), figures, files):
            with open(file, "wb") as stdout:
                kept.append(measure(command, None, stdout) if command is ours else rival.measure(command, stdin, stdout))
    return [[statistics.median(column) for column in zip(*kept)] for kept in figures]


def report(rows):
    print(f"{'program':15} {'wall s':>8} {'CPU s':>8} {'memory MB':>10}")
    for name, (wall, cpu, memory) in rows:
        print(f"{name:15} {wall:8.2f} {cpu:8.2f} {memory:10.0f}")


def count_tokens(path):
    with open(path, "rb") as file:
        return sum(len(line.split()) for line in file)


def ours_learn(arguments, output, threads=None):
    return [DRAGOMAN, "learn-bpe", "--quiet", "--input", arguments.corpus, "--vocab-size", arguments.vocab_size, "--threads",
            threads or arguments.threads, "--output", output]


def ours_encode(arguments, output):
    return [DRAGOMAN, "encode", "--quiet", "--tokenizer", arguments.tokenizer, "--input", arguments.corpus, "--format", "ids",
            "--threads", arguments.threads, "--output", output]


def learn_own(arguments):
    """The vocabulary has its size and does not depend on threads."""
    single = RIVALS / "single.json"
    measure(ours_learn(arguments, arguments.tokenizer))
    measure(ours_learn(arguments, single, 1))
    if single.read_bytes() != arguments.tokenizer.read_bytes():
        sys.exit("compare: the vocabulary depends on the number of threads")
    size = len(json.loads(single.read_text())["model"]["vocab"])
    if size != arguments.vocab_size:
        sys.exit(f"compare: {size} pieces instead of {arguments.vocab_size}")


def check_own_ids(arguments):
    """The corpus comes back from its ids."""
    measure(ours_encode(arguments, RIVALS / "ours.ids"))
    measure([DRAGOMAN, "decode", "--quiet", "--tokenizer", arguments.tokenizer, "--format", "ids", "--input", RIVALS / "ours.ids",
             "--output", RIVALS / "ours.text"])
    if not filecmp.cmp(RIVALS / "ours.text", arguments.corpus, shallow=False):
        sys.exit("compare: the corpus does not come back from its ids")


def same_ids(name):
    """Line by line. gigatoken moves empty lines of a file to the end, so they are left out."""
    with open(RIVALS / "ours.ids", "rb") as ours, open(RIVALS / f"{name}.ids", "rb") as theirs:
        pairs = itertools.zip_longest(*((line for line in file if line.strip()) for file in (ours, theirs)))
        return all(line == other for line, other in pairs)


def check_rival_results(rival, arguments, shared):
    """Two right vocabularies of one size cut the corpus into nearly equally many tokens; one vocabulary gives the same ids."""
    with open(RIVALS / f"{rival.name}.ids", "wb") as output:
        measure(rival.encode(arguments, shared, writes=True), arguments.corpus, output)
    ours, theirs = (count_tokens(RIVALS / f"{name}.ids") for name in ("ours", rival.name))
    print(f"{rival.name}: {theirs} tokens, dragoman: {ours}", flush=True)
    if shared and not same_ids(rival.name):
        sys.exit(f"compare: {rival.name} gives other ids for the same vocabulary")
    if abs(ours - theirs) > 0.02 * theirs:
        sys.exit("compare: the vocabularies are too different to be compared")


def prepare_to_encode(rival, arguments, learns):
    """Its own vocabulary, or ours as a file of its kind; whether the latter."""
    if rival.shared_as and not learns:
        kind = rival.shared_as
        if rival.name == "gigatoken" and '"ByteLevel"' not in pathlib.Path(arguments.tokenizer).read_text(encoding="utf-8"):
            kind = "sentencepiece"  # of tokenizer.json, it reads byte-level ones and few others
        measure([DRAGOMAN, "convert", "--quiet", arguments.tokenizer, "--output", rival.shared, "--to", kind])
        return True
    learned_from = f"{pathlib.Path(arguments.corpus).resolve()} {os.path.getsize(arguments.corpus)} {arguments.vocab_size}"
    note = RIVALS / f"{rival.name}.learned-from"
    if learns or not rival.model.exists() or not note.exists() or note.read_text() != learned_from:
        measure(rival.learn(arguments))
        note.write_text(learned_from)
    return False


def compare(arguments):
    for name in {"tiktoken", "gigatoken"}.intersection(arguments.rival):
        if arguments.what == "learn-bpe":
            sys.exit(f"compare: {name} does not learn")
    RIVALS.mkdir(parents=True, exist_ok=True)
    arguments.corpus = corpus_of(arguments.corpus)
    learns = arguments.what == "learn-bpe"
    if learns or not arguments.tokenizer:
        arguments.tokenizer = RIVALS / "dragoman.json"
        learn_own(arguments)
    check_own_ids(arguments)
    rows, ratios = [], []
    for name in arguments.rival:
        rival = KNOWN[name]
        rival.program = rival.prepare()
        shared = prepare_to_encode(rival, arguments, learns)
        check_rival_results(rival, arguments, shared)
        if learns:
            commands = ours_learn(arguments, RIVALS / "timed.json"), rival.learn(arguments)
            files = os.devnull, os.devnull
        else:
            # Both write to standard output: a file of ours by name would be synced to disk, which theirs is not.
            commands = ours_encode(arguments, "-"), rival.encode(arguments, shared)
            files = RIVALS / "timed.ids", RIVALS / "timed-rival.ids"
        ours, theirs = alternate(rival, *commands, arguments.runs, None if learns else arguments.corpus, files)
        rows += [(f"dragoman/{name}", ours), (name, theirs)]
        ratios.append(f"ratio {name} {theirs[0] / ours[0]:.2f}   (CPU {theirs[1] / ours[1]:.2f}, memory {ours[2] / theirs[2]:.0%} of theirs)")
    report(rows)
    print("\n".join(ratios))


def corpus_of(path):
    """bible46 is kept compressed; rivals read plain text."""
    if path:
        return path
    plain = RIVALS / "bible46.txt"
    if not plain.exists():
        RIVALS.mkdir(parents=True, exist_ok=True)
        with open(plain, "wb") as output:
            run(["xz", "--decompress", "--stdout", DATA / "bible46/bible46.txt.xz"], stdout=output)
    return plain


def add_commands(commands):
    for name, help_text in (("learn-bpe", "a vocabulary from a corpus"), ("encode", "a corpus to ids")):
        parser = commands.add_parser(name, help=help_text)
        parser.add_argument("--corpus", help="plain text; bible46 if not given")
        parser.add_argument("--vocab-size", type=int, default=30000)
        parser.add_argument("--threads", type=int, default=2)
        parser.add_argument("--runs", type=int, default=5)
        parser.add_argument("--rival", nargs="+", choices=sorted(KNOWN), default=["yttm"])
        parser.add_argument("--tokenizer", help="encode with this tokenizer.json, not with one learned from the corpus")
        parser.set_defaults(compare=compare)
