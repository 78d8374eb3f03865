"""Job arrays of Slurm: translation, mistakes that users make, and counts of words."""

import gzip
import os
import signal

from common import EXAMPLES, MODEL, eventually, expect_same, half_written, parent_of, programs_with, sources

PARTS = 4
LINES = 3000
OPTIONS = ("--beam-size", 3)


def check_translation(machine, folder, slurm):
    """A task is killed, one is requeued, one reaches its time limit, and one is cancelled; then the array is submitted again."""
    text, output, reference = folder / "text.de", folder / "text.en", folder / "reference.en"
    text.write_bytes(sources(LINES))
    machine.dragoman("translate", "--model", MODEL, text, "--output", reference, *OPTIONS, "--compute", "stored", "--quiet")

    def submit():
        return slurm.submit(EXAMPLES / "translate.sbatch", PARTS, MODEL, text, output, *OPTIONS,
                            options=[f"--array=1-{PARTS}"])

    parts = [folder / f"text.en.parts/{task}-of-{PARTS}.text.en" for task in range(1, PARTS + 1)]
    job = submit()
    half_written(parts[0])
    os.kill(programs_with(parts[0])[0], signal.SIGKILL)
    half_written(parts[1])
    slurm.run("scontrol", "requeue", f"{job}_2")
    half_written(parts[2])
    slurm.run("scancel", f"{job}_3")
    half_written(parts[3])
    os.kill(parent_of(programs_with(parts[3])[0]), signal.SIGUSR1)  # as Slurm does before the time limit
    tasks = slurm.wait(job)
    states = {task: state for task, (state, _) in tasks.items()}
    assert states == {1: "FAILED", 2: "COMPLETED", 3: "CANCELLED", 4: "COMPLETED"}, tasks
    assert not parts[0].exists() and not parts[2].exists()
    with open(f"{parts[0]}.partial", "r+b") as partial:
        partial.write(b"#")  # in place of the first letter of a line that must not be translated again
    assert "text.en.parts/1-of-4.text.en is missing; run task 1 again" in machine.run(EXAMPLES / "join", PARTS, output, status=1)

    again = submit()
    joining = slurm.submit(EXAMPLES / "join", PARTS, output, options=[f"--dependency=afterok:{again}"])
    complete = parts[1].stat()
    assert all(status == 0 for _, status in slurm.wait(again).values()), slurm.tasks(again)
    assert slurm.wait(joining)[0][1] == 0, slurm.log(joining)
    assert parts[1].stat().st_ino == complete.st_ino, "a complete part was translated again"
    with output.open("r+b") as joined, reference.open("rb") as whole:
        assert joined.read(1) == b"#", "a task that was killed began again instead of going on"
        joined.seek(0)
        joined.write(whole.read(1))
    expect_same("killed, requeued, cancelled and interrupted tasks", output, reference)
    leftovers = [file.name for file in output.with_name("text.en.parts").iterdir() if file not in parts]
    assert leftovers == ["command"], leftovers


def check_mistakes(machine, folder, slurm):
    text, output = folder / "text.de.gz", folder / "text.en.gz"
    text.write_bytes(gzip.compress(sources(40)))
    script = EXAMPLES / "translate.sbatch"
    arguments = (2, MODEL, text, output, "--beam-size", 1)

    from_zero = slurm.submit(script, *arguments, options=["--array=0-1"])
    assert {task: status for task, (_, status) in slurm.wait(from_zero).items()} == {0: 2, 1: 0}
    assert "shard" in slurm.log(from_zero, 0) and "I from 1 to N" in slurm.log(from_zero, 0), slurm.log(from_zero, 0)
    assert "run task 2 again" in machine.run(EXAMPLES / "join", 2, output, status=1)
    missing = slurm.submit(script, *arguments, options=["--array=2"])
    assert slurm.wait(missing)[2] == ("COMPLETED", 0), slurm.log(missing, 2)
    machine.run(EXAMPLES / "join", 2, output)
    (folder / "joined.en").write_bytes(gzip.decompress(output.read_bytes()))
    machine.dragoman("translate", "--model", MODEL, text, "--output", folder / "reference.en", "--beam-size", 1, "--compute", "stored", "--quiet")
    expect_same("an array that began at 0, and its missing task", folder / "joined.en", folder / "reference.en")

    other = slurm.submit(script, 2, MODEL, text, output, "--beam-size", 2, options=["--array=2"])
    assert slurm.wait(other)[2][1] == 2 and "parts of another command: 2 " in slurm.log(other, 2), slurm.log(other, 2)

    unset = slurm.submit(script, 2, MODEL, text, "", options=["--array=1"])
    assert slurm.wait(unset)[1][1] != 0 and "OUTPUT is missing" in slurm.log(unset, 1), slurm.log(unset, 1)
    alone = slurm.submit(script, *arguments)
    assert slurm.wait(alone)[0][1] != 0 and "submit it with --array=1-2" in slurm.log(alone), slurm.log(alone)

    # Two tasks of the same number at once: the second is refused, and the first is not disturbed.
    long, part = folder / "long.de", folder / "long.en.parts/1-of-1.long.en"
    long.write_bytes(sources(1500))
    first = slurm.submit(script, 1, MODEL, long, folder / "long.en", options=["--array=1"])
    half_written(part)
    second = slurm.submit(script, 1, MODEL, long, folder / "long.en", options=["--array=1"])
    assert slurm.wait(second)[1] == ("FAILED", 1), slurm.tasks(second)
    assert "another process" in slurm.log(second, 1), slurm.log(second, 1)
    assert slurm.wait(first)[1] == ("COMPLETED", 0), slurm.log(first, 1)

    machine.run(EXAMPLES / "join", 0, output, status=2)
    machine.run(EXAMPLES / "join", "02", output, status=2)
    machine.run(EXAMPLES / "join", "", output, status=2)

    (folder / "list").write_text(f"{text}\n")
    counting = slurm.submit(EXAMPLES / "count-words.sbatch", 2, folder / "list", folder / "counts", options=["--array=1-2"])
    assert {task: status for task, (_, status) in slurm.wait(counting).items()} == {1: 0, 2: 2}, slurm.tasks(counting)
    assert "names fewer than 2 files" in slurm.log(counting, 2), slurm.log(counting, 2)
    counting = slurm.submit(EXAMPLES / "count-words.sbatch", 2, text, folder / "counts", options=["--array=0"])
    assert slurm.wait(counting)[0][1] == 2 and "submit it with --array=1-2" in slurm.log(counting, 0), slurm.log(counting, 0)


def check_counts(machine, folder, slurm):
    """The vocabulary of counts that two tasks have made, a part of the files each, is that of the whole text."""
    lines = sources(6000).splitlines(keepends=True)
    files = []
    for number in range(5):
        files.append(folder / f"-text {number}.txt")
        files[-1].write_bytes(b"".join(lines[1200 * number : 1200 * (number + 1)]))
    listed, output = folder / "files.txt", folder / "corpus.counts"
    listed.write_text("".join(f"{file.name}\n" for file in files))  # names that look like options
    machine.dragoman("count-words", *files, "--output", folder / "reference.counts", "--quiet")
    machine.dragoman("learn-bpe", *files, "--vocab-size", 2000, "--output", folder / "reference.json", "--quiet")

    job = slurm.submit(EXAMPLES / "count-words.sbatch", 2, listed, output, options=["--array=1-2", f"--chdir={folder}"])
    joining = slurm.submit(EXAMPLES / "join", 2, output, "dragoman", "count-words", "--counts", options=[f"--dependency=afterok:{job}"])
    learning = slurm.submit("--wrap", f"dragoman learn-bpe --counts '{output}' --vocab-size 2000 --output '{folder}/tokenizer.json'",
                            options=[f"--dependency=afterok:{joining}"])
    assert slurm.wait(learning)[0][1] == 0, slurm.log(job, 1) + slurm.log(joining) + slurm.log(learning)
    expect_same("counts", output, folder / "reference.counts")
    expect_same("vocabulary", folder / "tokenizer.json", folder / "reference.json")
