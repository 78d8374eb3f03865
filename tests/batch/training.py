"""Training with several processes that Slurm and mpirun have started."""

import subprocess

from common import EXAMPLES, Skipped, eventually, expect_same, sources

RECIPE = """
output: run
threads: 1
model: {d_model: 64, heads: 4, feed_forward: 128, encoder_layers: 1, decoder_layers: 1, dropout: 0.1}
data:
  train: {source: text.de, target: text.de}
  tokenizer: tokenizer.json
training: {updates: UPDATES, accumulate: 2, batch_tokens: 512, schedule: {learning_rate: 0.003, warmup: 20}}
checkpoint: {every: 20}
"""


def check_training(machine, folder, slurm):
    """The weights are those of one process, also if the job was stopped in the middle and went on."""
    if "plugin" not in machine.dragoman("plugins", "list") or "mpi" not in machine.dragoman("plugins", "list"):
        raise Skipped("this build has no plugin 'mpi'")
    (folder / "text.de").write_bytes(sources(2000))
    recipe = folder / "train.yml"
    recipe.write_text(RECIPE.replace("UPDATES", "200"))
    machine.dragoman("learn-bpe", folder / "text.de", "--vocab-size", 800, "--output", folder / "tokenizer.json", "--quiet")
    machine.dragoman("train", "train.yml", "--set", "output=one", "--quiet", cwd=folder)
    one = folder / "one/last/model.safetensors"
    node = [f"--chdir={folder}"]

    # A run that was killed before its first checkpoint begins again.
    killed = subprocess.Popen(["dragoman", "train", "train.yml", "--set", "output=srun", "--quiet"], cwd=folder, env=machine.environment)
    eventually(lambda: (folder / "srun/run.json").exists(), "a run")
    killed.kill()
    killed.wait()
    assert not (folder / "srun/checkpoint-20").exists()

    job = slurm.submit(EXAMPLES / "train.sbatch", "srun", recipe, options=[*node, "--ntasks=2"])
    eventually(lambda: (folder / "srun/checkpoint-20").exists(), "a checkpoint of the job")
    slurm.run("scancel", "--signal=TERM", "--quiet", f"{job}.0")  # to the processes, as Slurm does before the time limit
    eventually(lambda: "Requeuing" in slurm.ask("scontrol", "show", "job", job) or slurm.tasks(job)[0][0] == "PENDING", "the job is in the queue again")
    assert not (folder / "srun/last").exists(), "the training was over before it could be interrupted; make it longer"
    assert slurm.wait(job)[0] == ("COMPLETED", 0), (folder / f"slurm-{job}.out").read_text()
    log = (folder / f"slurm-{job}.out").read_text()
    assert "2 processes by" in log and "MPI" in log, log
    expect_same("srun --mpi=pmix, stopped and requeued", folder / "srun/last/model.safetensors", one)

    command = "mpirun --allow-run-as-root --oversubscribe --bind-to none dragoman train train.yml --set output=mpirun"
    job = slurm.submit("--wrap", command, options=[*node, "--ntasks=2"])
    assert slurm.wait(job)[0][1] == 0, (folder / f"slurm-{job}.out").read_text()
    assert "2 processes by" in (folder / f"slurm-{job}.out").read_text()
    expect_same("mpirun in a job", folder / "mpirun/last/model.safetensors", one)

    # Without an interface for MPI each process would be alone, and would train the whole.
    job = slurm.submit("--wrap", "srun --mpi=none dragoman train train.yml --set output=none", options=[*node, "--ntasks=2"])
    assert slurm.wait(job)[0][1] != 0, "two processes that are not joined have trained"
    log = (folder / f"slurm-{job}.out").read_text()
    assert "PMI" in log and not (folder / "none").exists(), log  # the words are MPI's own
