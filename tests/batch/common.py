"""What the parts of tests/batch/run share."""

import gzip
import os
import subprocess
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
EXAMPLES = TREE / "examples/batch"
MODEL = TREE / "examples/multi30k/model"


class Skipped(Exception):
    """A part lacks a program or data."""


class Machine:
    """The program, and a folder for what a run writes."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.environment = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}"}
        for name in [name for name in self.environment if name.startswith(("SLURM_", "OMPI_", "PMI"))]:
            del self.environment[name]  # of a job that runs the tests

    def run(self, *command, status=0, **options):
        """Runs a command and returns its standard output and error as one text."""
        ran = subprocess.run([str(word) for word in command], env=self.environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, encoding="utf-8", **options)
        assert ran.returncode == status, f"{command}: status {ran.returncode}: {ran.stdout}"
        return ran.stdout

    def dragoman(self, *words, status=0, **options):
        return self.run("dragoman", *words, status=status, **options)


def sources(count):
    """The first German lines of Multi30k's training text."""
    data = Path(os.environ.get("DRAGOMAN_DATA", TREE.parent / "shared/data"))
    for folder in (data / "multi30k", data):
        for file in folder.glob("train*.de.gz"):
            with gzip.open(file, "rb") as lines:
                return b"".join(next(lines) for _ in range(count))
    raise Skipped(f"{data} has no Multi30k; scripts/get-multi30k fetches it")


def programs_with(word):
    """The ids of the processes of dragoman that have the word among their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"dragoman") and str(word).encode() in words:
                found.append(int(folder.name))
    return found


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def eventually(condition, what, seconds=120):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"did not happen: {what}"
        time.sleep(0.02)
    return found


def half_written(part, lines=20):
    """Waits until a part has lines but is not complete."""
    partial = part.with_name(part.name + ".partial")

    def written():
        assert not part.exists(), f"{part} was complete before it could be interrupted; make the text longer"
        try:
            return partial.read_bytes().count(b"\n") >= lines
        except OSError:
            return False

    eventually(written, f"{partial} has {lines} lines")


def expect_same(what, ours, reference):
    assert ours.read_bytes() == reference.read_bytes(), f"{what}: {ours} differs from {reference}, which one process wrote"
    print(f"  {what}: the {reference.stat().st_size} bytes of one process", flush=True)
