"""Training a Transformer, against PyTorch (nn.Transformer, pairs of like lengths, fused Adam, autocast to bf16 or not, compiled or not).

Both train on Multi30k's pairs in the same vocabulary with the same shape, learning rates, dropout, smoothing and clipping, from random values
of their own. A rate is that of target tokens behind the first report, so no start and no compilation counts; each program's own clock is around
reading of the batch, forward, backward and update. Runs go in turn; the first lines are the loss of each (negative log-likelihood of a target
token in training, dropout on), which must fall alike: within 5 % at the end. A ratio compares each at its best number type and setting.

On a GPU (--device cuda, which ends at once where there is none) PyTorch has a program of its own (pytorch_train_gpu.py), the loss is the
smoothed one, which costs neither program a second pass, and FLOP/s stand beside the rates, with what the GPU does at most.
"""
import dataclasses
import json
import math
import shutil
import statistics
import subprocess

from rivals import gpu
from rivals.models import text_lines
from rivals.process import DATA, DRAGOMAN, RIVALS, fail, measure, python_with, run

WORK = RIVALS / "training"
SHAPES = {
    "tiny": {"vocabulary": 4000, "d_model": 128, "heads": 4, "feed_forward": 256, "encoder_layers": 4, "decoder_layers": 4},
    "middle": {"vocabulary": 4000, "d_model": 256, "heads": 4, "feed_forward": 1024, "encoder_layers": 3, "decoder_layers": 3},
    "base": {"vocabulary": 30000, "d_model": 512, "heads": 8, "feed_forward": 2048, "encoder_layers": 6, "decoder_layers": 6},
}
DROPOUT, SMOOTHING, MAXIMUM_LENGTH = 0.1, 0.1, 128
LEARNING_RATE = {"tiny": 0.002, "middle": 0.001, "base": 0.0005}
LOSS_TOLERANCE = 0.05


@dataclasses.dataclass
class Run:
    """What one training measured: of its last reports the tokens and seconds, of the last one the loss."""

    rate: float
    losses: list
    memory: float
    flops: float = 0  # per second, on a GPU


def summary(reports, memory):
    timed = reports[1:]
    return Run(sum(r["target_tokens"] for r in timed) / sum(r["seconds"] for r in timed), [r["nll"] for r in reports], memory)


def summary_on_gpu(name, corpus, reports, memory):
    """The same of smoothed losses; work is counted by the corpus's lengths."""
    timed = reports[1:]
    tokens, seconds = sum(r["target_tokens"] for r in timed), sum(r["seconds"] for r in timed)
    flops = gpu.training_flops(SHAPES[name], tokens * corpus.source_share(), tokens) / seconds
    return Run(tokens / seconds, [r["loss"] for r in reports], memory, flops)


class Corpus:
    """Multi30k's pairs in a joint vocabulary of so many pieces: as text, and as token numbers."""

    def __init__(self, vocabulary):
        self.folder = WORK / f"vocabulary-{vocabulary}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer = self.folder / "tokenizer.json"
        self.text = {language: DATA / f"multi30k/train.{language}.gz" for language in ("de", "en")}
        self.ids = {language: self.folder / f"{language}.ids" for language in ("de", "en")}
        if not self.tokenizer.exists():
            run([DRAGOMAN, "learn-bpe", "--quiet", "--input", *self.text.values(), "--vocab-size", vocabulary, "--output", self.tokenizer])
        for language, path in self.ids.items():
            if not path.exists():
                run([DRAGOMAN, "encode", "--quiet", "--tokenizer", self.tokenizer, "--format", "ids", "--input", self.text[language], "--output", path])


    def source_share(self):
        """Source tokens for each target token, with the ends of both."""
        source, target = (sum(len(line.split()) + 1 for line in text_lines(path)) for path in self.ids.values())
        return source / target


def configure_ours(name, corpus, compute, arguments, updates):
    shape = {key: value for key, value in SHAPES[name].items() if key != "vocabulary"}
    folder = WORK / "run"
    shutil.rmtree(folder, ignore_errors=True)
    rates = {"embedding": DROPOUT, "sub_layer": DROPOUT, "activation": DROPOUT, "attention": DROPOUT}
    configuration = {
        "output": str(folder), "threads": arguments.threads, "device": arguments.device,
        "model": shape | {"dropout": rates},
        "data": {"train": {"source": str(corpus.text["de"]), "target": str(corpus.text["en"])}, "tokenizer": str(corpus.tokenizer),
                 "maximum_length": MAXIMUM_LENGTH},
        "training": {"updates": updates, "batch_tokens": arguments.batch_tokens, "compute": compute, "label_smoothing": SMOOTHING,
                     "clip_norm": 1, "report_every": arguments.report_every,
                     "schedule": {"type": "inverse-sqrt", "learning_rate": LEARNING_RATE[name], "warmup": arguments.updates}},
        "validation": {"every": 0},
        "checkpoint": {"every": 0},
    }
    file = WORK / "run.yml"
    file.write_text(json.dumps(configuration))  # JSON is YAML
    return file


def train_ours(name, corpus, compute, arguments):
    folder = WORK / "run"
    file = configure_ours(name, corpus, compute, arguments, arguments.updates)
    _, _, memory = measure([DRAGOMAN, "train", "--quiet", "--config", file])
    reports = [json.loads(line) for line in text_lines(folder / "metrics.jsonl")]
    if arguments.device != "cpu":
        return summary_on_gpu(name, corpus, [report for report in reports if report["type"] == "training"], memory)
    return summary([with_nll(report) for report in reports if report["type"] == "training"], memory)


def with_nll(report):
    return report | {"nll": math.log(report["perplexity"])}


def train_theirs(python, name, corpus, compute, compiled, arguments, updates=None):
    updates = updates or arguments.updates
    task = {"source": str(corpus.ids["de"]), "target": str(corpus.ids["en"]), "vocabulary": SHAPES[name]["vocabulary"], "shape": SHAPES[name] | {"dropout": DROPOUT},
            "threads": arguments.threads, "batch_tokens": arguments.batch_tokens, "maximum_length": MAXIMUM_LENGTH, "updates": updates,
            "report_every": arguments.report_every, "learning_rate": LEARNING_RATE[name], "warmup": arguments.updates, "label_smoothing": SMOOTHING,
            "bf16": compute == "bf16", "compile": compiled}
    on_gpu = arguments.device != "cpu"
    script = str(__file__).replace("training.py", "pytorch_train_gpu.py" if on_gpu else "pytorch_train.py")
    finished = subprocess.run([str(python), script], input=json.dumps(task), capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        fail(f"PyTorch failed:\n{finished.stderr[-3000:]}")
    reports = [json.loads(line) for line in finished.stdout.splitlines()]
    if on_gpu:
        return summary_on_gpu(name, corpus, reports, reports[-1]["memory"])
    return summary(reports, reports[-1]["memory"])


def check_losses(name, ours, theirs):
    print(f"{name}: loss after each {len(ours.losses)}th of the updates")
    print("  dragoman " + " ".join(f"{loss:.3f}" for loss in ours.losses))
    print("  pytorch  " + " ".join(f"{loss:.3f}" for loss in theirs.losses), flush=True)
    first, last = ours.losses[0], ours.losses[-1]
    if not last < 0.95 * first or abs(last - theirs.losses[-1]) > LOSS_TOLERANCE * theirs.losses[-1]:
        fail(f"{name}: the losses do not fall alike, so the programs do not do the same")


def best_setting(python, name, corpus, arguments):
    """Number type and whether compiled: what is fastest in a short run."""
    settings = [(compute, compiled) for compute in arguments.rival_compute for compiled in arguments.compile]
    if len(settings) == 1:
        return settings[0]
    rates = {}
    for compute, compiled in settings:
        short = 3 * arguments.report_every
        rates[compute, compiled] = train_theirs(python, name, corpus, compute, compiled, arguments, short).rate
        print(f"{name}: pytorch {compute}{' compiled' if compiled else ''}: {rates[compute, compiled]:.0f} tokens/s", flush=True)
    return max(rates, key=rates.get)


def compare_one(python, name, arguments):
    corpus = Corpus(SHAPES[name]["vocabulary"])
    compute, compiled = best_setting(python, name, corpus, arguments)
    ours, theirs = {each: [] for each in arguments.compute}, []
    for _ in range(arguments.runs):
        for each in arguments.compute:
            ours[each].append(train_ours(name, corpus, each, arguments))
            print(f"{name}: dragoman {each}: {ours[each][-1].rate:.0f} tokens/s", flush=True)
        theirs.append(train_theirs(python, name, corpus, compute, compiled, arguments))
        print(f"{name}: pytorch {compute}{' compiled' if compiled else ''}: {theirs[-1].rate:.0f} tokens/s", flush=True)
    for each, runs in ours.items():
        check_losses(f"{name} {each}", runs[0], theirs[0])
    rows = {f"dragoman {each}": runs for each, runs in ours.items()} | {f"pytorch {compute}{' compiled' if compiled else ''}": theirs}
    medians = {}
    for row, runs in rows.items():
        medians[row] = statistics.median(each.rate for each in runs)
        flops = statistics.median(each.flops for each in runs)
        print(f"{name:8} {row:24} {medians[row]:9.0f} tokens/s {statistics.median(each.memory for each in runs):8.0f} MB"
              + (f" {flops / 1e12:7.1f} TFLOP/s" if flops else ""))
    best = max((row for row in medians if row.startswith("dragoman")), key=medians.get)
    rival = next(row for row in medians if row.startswith("pytorch"))
    where = name if arguments.device == "cpu" else f"{name}/{arguments.device}/{arguments.batch_tokens}"
    return f"ratio pytorch {where} {medians[best] / medians[rival]:.2f}   ({best.split(' ', 1)[1]} against {rival.split(' ', 1)[1]})"


def print_kernel_times(name, arguments):
    """Of a few updates of Dragoman, whose steps are no graphs meanwhile."""
    updates = 10
    print(f"\n{name}: kernels of {updates} updates in {arguments.compute[-1]}")
    file = configure_ours(name, Corpus(SHAPES[name]["vocabulary"]), arguments.compute[-1], arguments, updates)
    finished = subprocess.run([DRAGOMAN, "train", "--config", str(file), "--kernel-times"], capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        fail(f"dragoman train --kernel-times failed:\n{finished.stderr[-2000:]}")
    print("\n".join(line[line.index("kernel "):] for line in finished.stderr.splitlines() if "kernel " in line and " launches " in line), flush=True)


def compare(arguments):
    if arguments.updates < 3 * arguments.report_every:
        fail("--updates must be three times --report-every, since the first report is not counted")
    WORK.mkdir(parents=True, exist_ok=True)
    if arguments.device != "cpu":
        print(f"dragoman: {gpu.our_gpu()}", flush=True)
    python = arguments.python or python_with("torch")
    if arguments.device != "cpu":
        print(f"{gpu.require_torch_gpu(python)}; {gpu.driver()}")
        most = gpu.ceilings(python)
        print(f"the GPU's ceilings: {most['flops'] / 1e12:.0f} TFLOP/s in bf16, {most['bytes'] / 1e12:.2f} TB/s", flush=True)
    ratios = [compare_one(python, name, arguments) for name in arguments.shape]
    if arguments.kernel_times:
        for name in arguments.shape:
            print_kernel_times(name, arguments)
    print("\n" + "\n".join(ratios))


def add_command(commands):
    parser = commands.add_parser("train", help="a Transformer, against PyTorch", description=__doc__)
    parser.add_argument("--shape", nargs="+", choices=list(SHAPES), default=list(SHAPES), metavar="NAME", help=f"of the model: {', '.join(SHAPES)}")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="of both programs")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--batch-tokens", type=int, default=4096, metavar="N")
    parser.add_argument("--updates", type=int, default=60, metavar="N")
    parser.add_argument("--report-every", type=int, default=10, metavar="N")
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    parser.add_argument("--compute", nargs="+", choices=["fp32", "bf16"], default=["fp32"], help="Dragoman's number types")
    parser.add_argument("--rival-compute", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"], help="PyTorch's, of which the best counts")
    parser.add_argument("--kernel-times", action="store_true", help="on a GPU: also what each of Dragoman's kernels takes")
    parser.add_argument("--compile", nargs="+", type=int, choices=[0, 1], default=[0, 1], help="whether PyTorch compiles; the best counts")
    parser.add_argument("--python", metavar="FILE", help="a Python that has torch, in place of one that is made")
    parser.set_defaults(compare=compare)
