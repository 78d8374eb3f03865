"""Models that a comparison of translation is made with, and the texts that they translate."""
import dataclasses
import gzip
import json
import pathlib
import shutil
import subprocess

from rivals.process import DATA, DRAGOMAN, RIVALS, ROOT, fail, measure, run

WORK = RIVALS / "translation"
FORCED_LENGTH = 28  # of the model with random weights, which does not know when to end; about what captions have with a margin
PROBE_LINES = 256  # two workers with one of the largest batches each


def output_of(command, environment=None, limit=None):
    """Its lines, however many: into a file and not into this program, which must stay small (see measure())."""
    path = WORK / "output"
    with open(path, "wb") as file:
        figures = measure(command, stdout=file, environment=environment, limit=limit)
    return path, figures


def read_lines(path):
    """Pieces that stand for bytes may make what is no UTF-8."""
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        return file.read().split("\n")[:-1]


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


@dataclasses.dataclass
class Search:
    name: str  # greedy, or beam4
    beam_size: int

    @staticmethod
    def named(name):
        if name == "greedy":
            return Search(name, 1)
        if name.startswith("beam") and name[4:].isdigit() and int(name[4:]) > 1:
            return Search(name, int(name[4:]))
        fail(f"--search {name}: use greedy, or beam and a number above 1, as in beam4")

    def options(self):
        if self.beam_size == 1:
            return ["--decoder", "greedy"]
        return ["--decoder", "beam", "--beam-size", self.beam_size, "--length-penalty", "ct2", "--alpha", 1]


class Model:
    """A model folder, and the texts that it translates here, as text and as token numbers."""

    def __init__(self, name, folder, length):
        self.name = name
        self.folder = pathlib.Path(folder)
        self.length = length  # that each translation must have, or 0
        self.machine = []  # options of where Dragoman computes, if not with the CPU
        if not (self.folder / "config.json").exists():
            fail(f"{folder} is no model folder: it has no config.json")
        self.sequences = json.loads((self.folder / "config.json").read_text())["sequences"]
        self.work = WORK / name
        self.work.mkdir(parents=True, exist_ok=True)
        self.source = self.work / "source"
        self.reference = None

    def tokenizer(self, side):
        names = [f"{prefix}tokenizer.{kind}" for prefix in (f"{side}.", "") for kind in ("json", "model")]
        return next(self.folder / name for name in names if (self.folder / name).exists())

    def encode(self, side, text, ids):
        run([DRAGOMAN, "encode", "--quiet", "--tokenizer", self.tokenizer(side), "--format", "ids", "--input", text, "--output", ids])

    def decode(self, ids, text):
        run([DRAGOMAN, "decode", "--quiet", "--tokenizer", self.tokenizer("target"), "--format", "ids", "--input", ids, "--output", text])

    def take_texts(self, sources, references):
        write_lines(self.source, sources)
        self.encode("source", self.source, self.work / "source.ids")
        write_lines(self.work / "probe.ids", read_lines(self.work / "source.ids")[:PROBE_LINES])
        if references:
            self.reference = self.work / "reference"
            write_lines(self.reference, references)
            self.encode("target", self.reference, self.work / "reference.ids")

    def folder_in(self, compute):
        """Its weights in that number type, as its users would keep it, and as the rival's are."""
        if compute == "fp32":
            return self.folder
        folder = self.work / f"in-{compute}"
        if not (folder / "config.json").exists():
            run([DRAGOMAN, "quantize", "--quiet", "--type", compute, "--output", folder, self.folder])
        return folder

    def command(self, search, compute, threads, form="text", folder=None):
        command = [DRAGOMAN, "translate", "--quiet", "--model", folder or self.folder, "--input", self.source, "--output", "-", "--format", form,
                   "--compute", compute, "--threads", threads, *search.options(), "--minimum-length", self.length or 1]
        return [*command, "--maximum-length", self.longest(), *self.machine]

    def longest(self):
        """CTranslate2's default, or what the model takes; without the end."""
        return self.length or min(256, self.sequences["maximum_target_length"] - 1)

    def bleu(self, text):
        if not self.reference or self.length:
            return None
        command = [DRAGOMAN, "evaluate", "--hypothesis", text, "--reference", self.reference, "--score-only", "--width", "4"]
        return float(subprocess.run([str(part) for part in command], check=True, capture_output=True).stdout)


def random_model(name, options, *plugins):
    """A model of 30,000 pieces after one update so small that its weights are still random: a larger one lets it end most translations where
    their length is forced, and there the programs' searches differ. Its speed is that of a trained one."""
    folder, tokenizer, run_folder = WORK / name, WORK / "base.json", WORK / f"{name}-run"
    if not (folder / "config.json").exists():
        print(f"making the model {name}", flush=True)
        WORK.mkdir(parents=True, exist_ok=True)
        texts = [DATA / f"multi30k/train.{language}.gz" for language in ("de", "en")]
        if not tokenizer.exists():
            run([DRAGOMAN, "learn-bpe", "--quiet", "--input", *texts, "--vocab-size", 30000, "--output", tokenizer])
        configuration = {
            "output": str(run_folder),
            "model": {"maximum_source_length": 256, "maximum_target_length": 256} | options,
            "data": {"train": {"source": str(texts[0]), "target": str(texts[1])}, "tokenizer": str(tokenizer)},
            "training": {"updates": 1, "batch_tokens": 512, "schedule": {"learning_rate": 0.00001, "warmup": 1}},
            "validation": {"every": 0},
            "checkpoint": {"every": 0},
        }
        path = WORK / f"{name}.yml"
        path.write_text(json.dumps(configuration))  # JSON is YAML
        shutil.rmtree(run_folder, ignore_errors=True)
        run([DRAGOMAN, "train", "--quiet", *plugins, "--config", path])
        shutil.copytree(run_folder / "last", folder)
        shutil.rmtree(run_folder)
    return folder


def base_model():
    """The base Transformer of Vaswani et al. 2017, which is the default."""
    return random_model("base-model-2", {})


def model_named(name, length):
    if name == "bundled":
        return Model(name, ROOT / "examples/multi30k/model", length or 0)
    if name == "base":
        return Model(name, base_model(), FORCED_LENGTH if length is None else length)
    return Model(pathlib.Path(name).resolve().name, name, length or 0)


def text_lines(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


def texts_of(arguments):
    """As many lines as are wanted, without blank ones, whose translation Dragoman does not compute."""
    source, reference = arguments.source, arguments.reference
    if not source:
        source, reference = (DATA / f"multi30k/test_2016_flickr.{language}.gz" for language in ("de", "en"))
    sources = text_lines(source)
    references = text_lines(reference) if reference else [""] * len(sources)
    if len(sources) != len(references):
        fail(f"{source} has {len(sources)} lines, {reference} {len(references)}")
    pairs = [pair for pair in zip(sources, references) if pair[0].strip()]
    pairs = [pairs[i % len(pairs)] for i in range(arguments.lines or len(pairs))]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs] if reference else None
