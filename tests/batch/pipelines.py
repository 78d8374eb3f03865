"""GNU parallel, and the commands that Bitextor, Mozilla's pipeline and datatrove run."""

import base64
import gzip
import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

from common import EXAMPLES, MODEL, TREE, Skipped, expect_same, half_written, programs_with, sources


def require_parallel():
    if not shutil.which("parallel"):
        raise Skipped("there is no GNU parallel; scripts/install-deps --batch installs it")


def check_parallel(machine, folder):
    """A job of GNU parallel is killed; --resume-failed runs it again, and no other."""
    require_parallel()
    text, output, reference = folder / "text.de", folder / "text.en", folder / "reference.en"
    text.write_bytes(sources(10000))  # enough to kill a job before its end
    machine.dragoman("translate", "--model", MODEL, text, "--output", reference, "--beam-size", 2, "--quiet")
    parts = folder / "text.en.parts"
    parts.mkdir()
    command = ["parallel", "--jobs", "2", "--joblog", folder / "log", "--resume-failed", "dragoman", "translate", "--model", MODEL,
               "--input", text, "--output", f"{parts}/{{}}-of-4.text.en", "--shard", "{}/4", "--resume", "--threads", "1", "--beam-size", "2",
               "--quiet", ":::", "1", "2", "3", "4"]
    killed = parts / "2-of-4.text.en"
    running = threading.Thread(target=machine.run, args=command, kwargs={"status": 1})
    running.start()
    half_written(killed)
    os.kill(programs_with(killed)[0], signal.SIGKILL)
    running.join()
    assert not killed.exists() and killed.with_name(killed.name + ".partial").exists()
    complete = {file: file.stat().st_ino for file in parts.glob("*.en")}
    assert len(complete) == 3, complete
    machine.run(*command)
    assert all(file.stat().st_ino == node for file, node in complete.items()), "complete jobs ran again"
    machine.run(EXAMPLES / "join", 4, output)
    expect_same("a killed job", output, reference)


def check_bitextor(machine, folder):
    """alignerCmd, as the rule custom_translate of Bitextor 8.3 runs it: lines of documents on standard input, alone or in blocks by GNU parallel."""
    require_parallel()
    lines = sources(300).decode().splitlines()
    lines[7], lines[11], lines[200] = "", "Ein Hund\r", "  "
    documents = ["".join(line + "\n" for line in lines[begin : begin + 20]) for begin in range(0, 300, 20)]
    source = folder / "sentences.gz"
    source.write_bytes(gzip.compress(b"".join(base64.b64encode(document.encode()) + b"\n" for document in documents)))
    command = f"dragoman translate --model {MODEL} --beam-size 2 --quiet"
    made = []
    for before in ("", "parallel --gnu --halt 2 --pipe --j 2 -k "):
        shell = f"set -o pipefail; zcat {source} | base64 -d | {before}{command}"
        made.append(machine.run("bash", "-c", shell) if not before else machine.run("bash", "-c", shell.replace("--pipe", "--pipe --block 8k")))
        assert made[-1].count("\n") == 300
    assert made[0] == made[1]
    text = folder / "text.de"
    text.write_text("".join(documents), newline="\n")
    assert made[0] == machine.dragoman("translate", "--model", MODEL, text, "--beam-size", 2, "--quiet")
    print("  alignerCmd: 300 lines for 300, with and without GNU parallel", flush=True)


def check_marian_decoder(machine, folder):
    """translate.py's command line gives the translations of the model's folder, and n-best lists in the form that extract_best.py reads."""
    golden = TREE / "tests/formats/golden/marian/browser"
    source = folder / "file.1"
    source.write_text("dog house cat\n\nthe dog\n" * 5)
    (folder / "decoder.yml").write_text("normalize: 1.0\nword-penalty: 0\nmini-batch-words: 5000\nfp16: true\nmax-length-crop: true\nbeam-size: 4\n"
                                        "quiet-translation: True\n")
    command = [EXAMPLES / "marian-decoder", "--config", folder / "decoder.yml", "--models", golden / "model.deen.intgemm.alphas.bin", "--vocabs",
               golden / "vocab.deen.spm", golden / "vocab.deen.spm", "--input", source, "--log", folder / "log", "--devices", "0", "1", "--workspace",
               "9000", "--cpu-threads", "1"]
    machine.run(*command, "--output", folder / "file.1.out")
    translated = (folder / "file.1.out").read_text().splitlines()
    expected = machine.dragoman("translate", "--model", golden, source, "--compute", "fp32", "--beam-size", 4, "--suppress-unknown", "--maximum-length-factor", 3,
                                "--maximum-length-offset", 0, "--quiet").splitlines()
    assert translated == expected and len(translated) == 15 and translated[0], translated
    machine.run(*command, "--n-best", "--mini-batch-words", "2000", "--beam-size", "3", "--output", folder / "file.1.nbest")
    lists = [line.split(" ||| ") for line in (folder / "file.1.nbest").read_text().splitlines()]
    assert [int(fields[0].split()[0]) for fields in lists] == [number for number in range(15) for _ in range(3)]
    assert all(len(fields) == 2 for fields in lists if int(fields[0].split()[0]) % 3 != 1), lists
    machine.run(*command, "--models", golden / "model.deen.intgemm.alphas.bin", golden / "model.deen.intgemm.alphas.bin", "--output", folder / "ensemble")
    assert (folder / "ensemble").read_text().splitlines() == translated, "two equal models translate as one"
    assert "unrecognized arguments: --unknown" in machine.run(*command, "--unknown", "1", "--output", folder / "no", status=2)
    print("  marian-decoder: 15 lines, lists of 3 for each, an ensemble", flush=True)


DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
sys.path.insert(0, sys.argv[1])
from translate_step import Translate
if __name__ == "__main__":
    folder, model = sys.argv[2:]
    pipeline = [JsonlReader(folder + "/in"), Translate(model, beam_size=2), JsonlWriter(folder + "/out", compression=None)]
    LocalPipelineExecutor(pipeline, tasks=2, workers=2, logging_dir=folder + "/logs").run()
"""


def check_datatrove(machine, folder):
    """The step examples/batch/translate_step.py in two tasks of datatrove's own executor."""
    python = os.environ.get("DRAGOMAN_DATATROVE_PYTHON")
    if not python or subprocess.run([python, "-c", "import datatrove, orjson"], capture_output=True).returncode != 0:
        raise Skipped("DRAGOMAN_DATATROVE_PYTHON names no Python with datatrove")
    lines = sources(400).decode().splitlines()
    documents = [{"id": str(number), "text": "\n".join(lines[5 * number : 5 * number + 1 + number % 5])} for number in range(80)]
    documents[3]["text"] = ""
    (folder / "in").mkdir()
    for half in range(2):
        (folder / f"in/{half}.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents[half::2]))
    (folder / "run.py").write_text(DATATROVE)
    machine.environment["PYTHONPATH"] = str(machine.build / "python")
    machine.run(python, folder / "run.py", EXAMPLES, folder, MODEL)
    found = {}
    for file in (folder / "out").glob("*.jsonl"):
        found.update({record["id"]: record for record in map(json.loads, file.read_text().splitlines())})
    whole = folder / "whole.de"
    kept = [document for document in documents if document["id"] in found]
    assert len(kept) >= 79, len(kept)  # datatrove's readers drop documents without text
    whole.write_text("".join(document["text"] + "\n" for document in kept))
    translations = iter(machine.dragoman("translate", "--model", MODEL, "--compute", "stored", whole, "--beam-size", 2, "--quiet").split("\n"))
    for document in kept:
        expected = "\n".join(next(translations) for _ in document["text"].split("\n"))
        assert found[document["id"]]["text"] == expected, document
        assert found[document["id"]]["metadata"]["source"] == document["text"]
    print(f"  datatrove: {len(kept)} documents in two tasks", flush=True)
