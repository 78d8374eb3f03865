"""The Python package, against the program and against other packages, inside one Python process each.

Encoding: one vocabulary, as the file of each package's kind, and equal ids. The program's time is that of its whole process. Translation: the
program only, with equal translations. The package is that of build/release (scripts/test python builds it), under the Python of
DRAGOMAN_PYTHON_ENV; rivals are wheels below $DRAGOMAN_RIVALS.
"""
import json
import os
import pathlib
import statistics
import subprocess

from rivals.bpe import corpus_of
from rivals.process import DRAGOMAN, RIVALS, ROOT, fail, measure, python_with

TIMED = pathlib.Path(__file__).resolve().parent / "python_timed.py"
#: The kind of file that each reads.
FILES = {"dragoman": "model", "compat": "json", "tokenizers": "json", "sentencepiece": "model", "gigatoken": "model"}
OURS = ("dragoman", "compat")


def our_python():
    folder = os.environ.get("DRAGOMAN_PYTHON_ENV", pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "dragoman/python")
    if not (ROOT / "build/release/python/dragoman").exists():
        fail("the Python package is not built; run scripts/test python")
    return pathlib.Path(folder) / "bin/python"


def timed(library, what, opened, corpus, threads):
    """The seconds and the digest of one run."""
    python = our_python() if library in OURS else python_with(library)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "build/release/python"), "RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
    done = subprocess.run([python, TIMED, library, what, opened, corpus, str(threads), "1"], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{library}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    return found["seconds"][0], found["digest"]


def compare_in_turn(what, files, corpus, command, arguments):
    """The median seconds of each library and of the program, which run in turn."""
    figures = {library: [] for library in [*files, "program"]}
    digests = {}
    for _ in range(arguments.runs):
        figures["program"].append(measure(command)[0])
        for library, opened in files.items():
            seconds, digest = timed(library, what, opened, corpus, arguments.threads)
            figures[library].append(seconds)
            digests[library] = digest
    different = [library for library in files if digests[library] != digests["dragoman"]]
    if different:
        fail(f"{', '.join(different)}: other results than dragoman's")
    return {library: statistics.median(kept) for library, kept in figures.items()}


def report(what, medians, size):
    for library, seconds in medians.items():
        rate = f"{size / seconds / 1e6:8.1f} MB/s" if what == "encode" else f"{size / seconds:8.1f} lines/s"
        print(f"{library:15} {seconds:8.3f} s {rate}")
    for library, seconds in medians.items():
        if library != "dragoman":
            print(f"ratio python-{what} {library} {seconds / medians['dragoman']:.2f}")


def compare_encoding(arguments):
    corpus = corpus_of(arguments.corpus)
    files = {"model": RIVALS / "python.model", "json": RIVALS / "python.json"}
    measure([DRAGOMAN, "learn-bpe", "--quiet", "--input", corpus, "--vocab-size", arguments.vocab_size, "--to", "sentencepiece", "--output", files["model"]])
    measure([DRAGOMAN, "convert", "--quiet", files["model"], "--output", files["json"], "--to", "tokenizer-json"])
    command = [DRAGOMAN, "encode", "--quiet", "--tokenizer", files["model"], "--input", corpus, "--format", "ids", "--threads", arguments.threads, "--output", "-"]
    used = {library: str(files[FILES[library]]) for library in ["dragoman", *arguments.rival]}
    report("encode", compare_in_turn("encode", used, corpus, command, arguments), os.path.getsize(corpus))


def compare_translation(arguments):
    source = RIVALS / "python.source"
    with open(arguments.source, encoding="utf-8") as file:
        lines = file.read().split("\n")[: arguments.lines]
    source.write_text("".join(line + "\n" for line in lines))
    command = [DRAGOMAN, "translate", "--quiet", "--model", arguments.model, "--threads", arguments.threads, "--input", source, "--output", RIVALS / "python.target"]
    report("translate", compare_in_turn("translate", {"dragoman": arguments.model}, source, command, arguments), len(lines))


def compare(arguments):
    RIVALS.mkdir(parents=True, exist_ok=True)
    compare_encoding(arguments)
    if arguments.source:
        compare_translation(arguments)


def add_command(commands):
    parser = commands.add_parser("python", help="the Python package: ids and translations")
    parser.add_argument("--corpus", help="plain text; bible46 if not given")
    parser.add_argument("--vocab-size", type=int, default=30000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rival", nargs="+", choices=sorted(set(FILES) - {"dragoman"}), default=["tokenizers", "sentencepiece", "gigatoken"])
    parser.add_argument("--source", help="also translate the lines of this text")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--model", default=str(ROOT / "examples/multi30k/model"))
    parser.set_defaults(compare=compare)
