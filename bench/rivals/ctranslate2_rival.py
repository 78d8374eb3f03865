"""CTranslate2: installed, given our weights, run, and its best setting found."""
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

from rivals.models import WORK, output_of, read_lines, write_lines
from rivals.process import fail, python_with, run

VERSION = "4.8.5"
TYPES = {"fp32": "float32", "int8": "int8", "bf16": "bfloat16", "fp16": "float16"}
LIBRARIES = {"oneDNN": {"CT2_USE_MKL": "0"}, "MKL": {"CT2_USE_MKL": "1"}}
FIRST_BATCH = [32, "examples"]
OTHER_BATCHES = [[16, "examples"], [64, "examples"], [128, "examples"], [1024, "tokens"], [2048, "tokens"], [4096, "tokens"]]
PROBE_SECONDS = 2


def instruction_limits(isa):
    """What holds oneDNN in both programs, CTranslate2's own kernels, and MKL to a level of instructions."""
    def held(onednn, own, mkl):
        return {"DNNL_MAX_CPU_ISA": onednn, "ONEDNN_MAX_CPU_ISA": onednn, "CT2_FORCE_CPU_ISA": own, "MKL_ENABLE_INSTRUCTIONS": mkl}
    return {"native": {}, "vnni": held("AVX512_CORE_VNNI", "AVX512", "AVX512_E1"), "avx2": held("AVX2", "AVX2", "AVX2")}[isa]


@dataclasses.dataclass
class Setting:
    layout: tuple  # workers, and threads of each
    library: str
    batches: list
    kernels: str = ""  # of its own, if not those that it chooses

    def environment(self):
        return LIBRARIES[self.library] | ({"CT2_FORCE_CPU_ISA": self.kernels} if self.kernels else {})

    def __str__(self):
        size, kind = self.batches[0]
        return f"{self.layout[0]} x {self.layout[1]}, {' '.join([self.library, self.kernels]).strip()}, {size} {kind}"


class CTranslate2:
    name = "ctranslate2"

    def __init__(self, version, device="cpu", python=None):
        self.device = device
        self.python = python or python_with("ctranslate2", version)
        self.version = version
        here = pathlib.Path(__file__).resolve().parent
        self.converter, self.program = here / "ctranslate2_convert.py", here / "ctranslate2_translate.py"
        self.models = {}

    def types(self):
        command = [str(part) for part in (self.python, self.program, json.dumps({"types": True, "device": self.device}))]
        finished = subprocess.run(command, check=False, capture_output=True, text=True)
        if finished.returncode != 0:
            fail(f"CTranslate2 does not work on {self.device}: {finished.stderr.strip().splitlines()[-1]}")
        return json.loads(finished.stdout)

    def converted(self, model, compute):
        """With its weights in the number type, as its users convert: the process that computes then needs less memory."""
        folder = model.work / f"ctranslate2-{compute}"
        if (model.name, compute) not in self.models:
            shutil.rmtree(folder, ignore_errors=True)
            quantization = [] if compute == "fp32" else [TYPES[compute]]
            run([self.python, self.converter, model.folder, folder, *quantization])
            self.models[model.name, compute] = folder
        return folder

    def command(self, model, compute, layout, **more):
        task = {"model": self.converted(model, compute), "source": model.work / "source.ids", "compute": TYPES[compute],
                "device": self.device, "workers": layout[0], "threads": layout[1], "longest_source": model.sequences["maximum_source_length"],
                "longest": model.longest(), "shortest": model.length} | more
        return [self.python, self.program, json.dumps(task, default=str)]

    def translate(self, model, search, compute, setting, environment, limit=None, **more):
        """The figures of each batch size in turn; of those that were done, if all take longer than the limit."""
        command = self.command(model, compute, setting.layout, batches=setting.batches, beam_size=search.beam_size, **more)
        try:
            path, _ = output_of(command, environment | setting.environment(), limit)
        except TimeoutError:
            path = WORK / "output"
        return [json.loads(line) for line in read_lines(path)]

    def score(self, model, target, threads):
        path, _ = output_of(self.command(model, "fp32", (threads, 1), target=target))
        return [float(line) for line in read_lines(path)]

    def describe(self, model, compute, setting, environment):
        """What it says itself that it computes with."""
        write_lines(model.work / "one.ids", read_lines(model.work / "source.ids")[:1])
        command = self.command(model, compute, setting.layout, batches=[[1, "examples"]], beam_size=1, source=model.work / "one.ids")
        talkative = {"CT2_VERBOSE": "1", "ONEDNN_VERBOSE": "1", "DNNL_VERBOSE": "1", "MKL_VERBOSE": "1"}
        result = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True,
                                env=os.environ | environment | setting.environment() | talkative)
        marks = ("Selected ISA", "Use Intel MKL", "SGEMM backend", "GEMM_S8 backend", "Selected compute type", ",cpu,isa:",
                 "MKL_VERBOSE oneMKL")
        lines = [line for line in (result.stderr + result.stdout).splitlines() if any(mark in line for mark in marks)]
        return list(dict.fromkeys(line.split("[info]")[-1].strip(" -") for line in lines))


def rate(row):
    return row["tokens"] / row["wall"]


def processor_has(flag):
    with open("/proc/cpuinfo") as file:
        return f" {flag} " in file.read().replace("\n", " ")


def best_setting(rival, model, search, compute, threads, isa):
    """First workers, threads and library with one batch size, then the best of these with other kernels, then with other batch sizes.
    What is five times as slow as the best is given up."""
    tried = []

    def probe(setting):
        limit = 20 + 5 * len(setting.batches) * max(PROBE_SECONDS, min(row["wall"] for row, _ in tried)) if tried else None
        rows = rival.translate(model, search, compute, setting, instruction_limits(isa), limit, source=model.work / "probe.ids",
                               seconds=PROBE_SECONDS)
        tried.extend((row, dataclasses.replace(setting, batches=[row["batch"]])) for row in rows)

    def best():
        return max(tried, key=lambda one: rate(one[0]))[1]

    for workers in range(threads, 0, -1):
        if threads % workers == 0:
            for library in LIBRARIES:
                probe(Setting((workers, threads // workers), library, [FIRST_BATCH]))
    if isa == "native" and processor_has("avx512bw"):
        probe(dataclasses.replace(best(), kernels="AVX512"))
    probe(dataclasses.replace(best(), batches=OTHER_BATCHES))
    return best()
