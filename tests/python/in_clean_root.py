"""Uses the installed wheel in a system without compilers and libraries; run by clean_root, in an empty folder with the model."""

import glob
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

LIBRARIES = ["dnnl", "icuuc", "icudata", "hwy", "fmt", "yaml-cpp", "simdjson", "boost_iostreams", "onig", "gomp", "OpenCL"]
GERMAN = "Ein Mann in einem blauen Hemd liest auf einer Parkbank eine Zeitung."
ENGLISH = "A man in a blue shirt reads a newspaper on a park bench."


def check(condition, what):
    if not condition:
        sys.exit(f"in_clean_root.py: {what}")


def run(*command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    check(done.returncode == 0, f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr}")
    return done.stdout


def mapped(name):
    """The files of a library that this process has mapped."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    files = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return {file for file in files if Path(file).name.startswith(f"lib{name}")}


for compiler in ["cc", "gcc", "g++", "clang", "make", "cmake"]:
    check(shutil.which(compiler) is None, f"this system has {compiler}")
for library in LIBRARIES:
    check(not glob.glob(f"/usr/lib/*/lib{library}*"), f"this system has the library {library}")

import dragoman  # noqa: E402

# Translation, in this process and by the program.
translator = dragoman.Translator("model")
check(translator.translate(GERMAN) == ENGLISH, f"translated as: {translator.translate(GERMAN)}")
check(run("dragoman", "translate", "--quiet", "--model", "model", text=GERMAN + "\n") == ENGLISH + "\n", "the program translates differently")
for compute in ["fp32", "bf16", "int8"]:
    run("dragoman", "translate", "--quiet", "--model", "model", "--compute", compute, text=GERMAN + "\n")

# A vocabulary, learned and used, with compressed text.
lines = [f"{GERMAN} {ENGLISH} {number}" for number in range(200)]
with gzip.open("text.gz", "wt") as file:
    file.write("".join(line + "\n" for line in lines))
dragoman.learn_bpe(["text.gz"], vocab_size=400).save("tokenizer.json")
tokenizer = dragoman.Tokenizer("tokenizer.json")
check([tokenizer.decode(tokenizer.encode(line)) for line in lines] == lines, "the vocabulary does not give texts back")
run("dragoman", "learn-bpe", "--quiet", "--vocab-size", "400", "--output", "again.json", "text.gz")
check(Path("again.json").read_bytes() == Path("tokenizer.json").read_bytes(), "the program learns another vocabulary")

# ICU's data: normalisation, and the ends of sentences.
folded = dragoman.learn_bpe(["text.gz"], vocab_size=400, normalization="nfkc")
check(folded.decode(folded.encode("ﬁne ① ﾊ")) == "fine 1 ハ", "NFKC is not applied")
output = run("dragoman", "translate", "--quiet", "--model", "model", "--split", "de", "--format", "jsonl", text=f"{GERMAN} {GERMAN}\n")
check(len(json.loads(output)["segments"]) == 2, "two sentences are not split")

# Oniguruma, which is loaded by its name.
pattern = {"type": "Split", "pattern": {"Regex": "(?<=a+)b"}, "behavior": "Isolated", "invert": False}
model = {"type": "WordLevel", "vocab": {"?": 0, "aa": 1, "b": 2}, "unk_token": "?"}
Path("pattern.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "pre_tokenizer": pattern, "model": model}))
check(list(dragoman.Tokenizer("pattern.json").encode("aab")) == [1, 2], "the pattern splits differently")

# Plugins, and what the program says of itself.
check("ssru" in run("dragoman", "plugins", "list"), "the plugin ssru is not found")
check(run("dragoman", "--version").strip() == f"dragoman {dragoman.__version__}", "the versions differ")
run("dragoman", "doctor")

# Each library is the wheel's, and there are no OpenMP and no OpenCL.
for library in LIBRARIES:
    files = mapped(library)
    if library in ["gomp", "OpenCL"]:
        check(not files, f"{files} are loaded")
    else:
        check(files and all("/dragoman.libs/" in file for file in files), f"the library {library} is loaded from {files or 'nowhere'}")
print(f"clean_root: {sys.version.split()[0]}, dragoman {dragoman.__version__}: passed")
