"""Marian: installed (pymarian), given our weights, run, and its best setting found."""
import dataclasses
import os
import pathlib
import re
import shutil

from rivals.models import WORK, output_of, read_lines, write_lines
from rivals.process import DRAGOMAN, fail, measure, python_with, run

VERSION = "1.12.42"
FIRST_BATCH = 32
OTHER_BATCHES = [8, 16, 64, 128]
MAXI_BATCH = 1000  # batches that are sorted by length together


@dataclasses.dataclass
class Setting:
    threads: int
    compute: str  # fp32 or int8
    batch: int
    shortlist: tuple  # file, first, best; or empty

    def __str__(self):
        return f"{self.threads} threads, batch {self.batch}{', shortlist' if self.shortlist else ''}"


def packed_type():
    """The types of FBGEMM, which Marian has for int8; the wheel has no intgemm."""
    with open("/proc/cpuinfo") as file:
        return "packed8avx512" if " avx512bw " in file.read().replace("\n", " ") else "packed8avx2"


class Marian:
    name = "marian"

    def __init__(self, version, python=None):
        self.python = python or python_with("pymarian", version)

    def command(self, what, *options):
        return [self.python, "-m", "pymarian", what, *options]

    def converted(self, model):
        """A folder with model.npz, model.int8.bin and the list of pieces."""
        folder = model.work / "marian"
        shutil.rmtree(folder, ignore_errors=True)
        run([DRAGOMAN, "convert", "--quiet", model.folder, *model.machine, "--to", "marian-npz", "--output", folder])
        measure(self.command("convert", "--from", folder / "model.npz", "--to", folder / "model.int8.bin", "--gemm-type", packed_type()))
        return folder

    def files(self, model, compute):
        folder = model.work / "marian"
        # Embeddings are floats in an int8 model, as in ours.
        return ["-m", folder / ("model.npz" if compute == "fp32" else "model.int8.bin"), "--vocabs", folder / "vocab.yml", folder / "vocab.yml"]

    def translate(self, model, setting, limit=None, source="source.pieces"):
        """Writes theirs.pieces. Seconds of the translation alone, which Marian itself reports, processor seconds and MB of the process."""
        options = ["--input", model.work / source, "--output", model.work / "theirs.pieces", "--cpu-threads", setting.threads, "--beam-size", 1,
                   "--mini-batch", setting.batch, "--maxi-batch", MAXI_BATCH, "--maxi-batch-sort", "src", "--skip-cost", "--workspace", 256,
                   "--max-length-factor", model.length_factor, "--allow-unk", "--quiet-translation"]
        if setting.shortlist:
            options += ["--shortlist", *setting.shortlist, 0]
        messages = []
        _, cpu, memory = measure(self.command("decode", *self.files(model, setting.compute), *options), limit=limit, messages=messages,
                                 environment={"OMP_NUM_THREADS": "1"})
        total = re.search(r"Total time: ([0-9.]+)s", messages[0])
        if not total:
            fail(f"Marian did not report its time:\n{messages[0][-2000:]}")
        return float(total.group(1)), cpu, memory

    def score(self, model, threads):
        """Log probabilities of the references."""
        path, _ = output_of(self.command("score", *self.files(model, "fp32"), "--train-sets", model.work / "source.pieces",
                                         model.work / "reference.pieces", "--cpu-threads", threads, "--quiet"))
        return [float(line.split()[0]) for line in read_lines(path)]


def best_setting(rival, model, compute, threads, shortlist):
    """The best size of batches, with a shortlist and without one."""
    write_lines(model.work / "probe.pieces", read_lines(model.work / "source.pieces")[:max(OTHER_BATCHES) * threads * 2])
    tried = []

    def probe(setting):
        limit = 60 + 5 * min(tried)[0] if tried else None
        try:
            tried.append((min(rival.translate(model, setting, limit, "probe.pieces")[0] for _ in range(2)), len(tried), setting))
        except TimeoutError:
            pass

    for listed in [(), shortlist] if shortlist else [()]:
        probe(Setting(threads, compute, FIRST_BATCH, listed))
    best = min(tried)[2]
    for batch in OTHER_BATCHES:
        probe(dataclasses.replace(best, batch=batch))
    return min(tried)[2]
