"""A cluster of Slurm on this machine: one node, in a temporary folder, with ports, a key and a configuration of its own."""

import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}


def find(program):
    """A daemon is in a folder that is not on every user's path."""
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")


def missing():
    """The programs of Slurm that this machine lacks."""
    return [name for name in (*DAEMONS, "sbatch", "srun", "scontrol") if not find(name)]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Slurm:
    def __init__(self, folder, environment):
        self.folder = folder
        self.jobs = folder / "jobs"
        folder.chmod(0o711)  # munged refuses a socket that not every user can reach
        for name in ("munge", "slurmctld", "slurmd", "jobs"):
            (folder / name).mkdir(mode=0o711)
        self.environment = {**environment, "SLURM_CONF": str(folder / "slurm.conf")}
        self._write_configuration()
        self.running = []
        self._start("munged", "--foreground", f"--key-file={folder}/munge/key", f"--socket={folder}/munge/socket",
                    f"--pid-file={folder}/munge/pid", f"--log-file={folder}/munge/log", f"--seed-file={folder}/munge/seed")
        self._wait("munged", lambda: (folder / "munge/socket").exists())
        self._start("slurmctld", "-D", "-f", folder / "slurm.conf")
        self._start("slurmd", "-D", "-f", folder / "slurm.conf")
        self._wait("the node", lambda: self.ask("sinfo", "--noheader", "--format=%t").strip() == "idle")

    def _write_configuration(self):
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        host, user, folder = socket.gethostname().split(".")[0], getpass.getuser(), self.folder
        (folder / "slurm.conf").write_text(
            f"""ClusterName=dragoman
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthInfo=socket={folder}/munge/socket,cred_expire=6
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/slurmctld
SlurmdSpoolDir={folder}/slurmd
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=2
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""
        )

    def _start(self, name, *arguments):
        with open(self.folder / f"{name}.log", "ab") as log:
            started = subprocess.Popen([find(name), *map(str, arguments)], env=self.environment, stdout=log, stderr=log,
                                       start_new_session=True)
        self.running.append(started)

    def _wait(self, what, condition):
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, f"{what} did not start; see {self.folder}/*.log"
            time.sleep(0.1)

    def stop(self):
        subprocess.run(["scancel", "--state=RUNNING,PENDING", f"--user={getpass.getuser()}"], env=self.environment,
                       capture_output=True)
        for process in reversed(self.running):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running = []

    def run(self, *command):
        ran = subprocess.run([str(word) for word in command], env=self.environment, capture_output=True, text=True)
        assert ran.returncode == 0, f"{command}: {ran.stderr}"

    def ask(self, *command):
        return subprocess.run([str(word) for word in command], env=self.environment, capture_output=True, text=True).stdout

    def submit(self, script, *arguments, options=()):
        """Submits a job whose tasks have a core each, and returns its id."""
        command = ["sbatch", "--parsable", "--cpus-per-task=1", *options, script, *arguments]
        ran = subprocess.run([str(word) for word in command], env=self.environment, cwd=self.jobs, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def tasks(self, job):
        """The state and exit status of each task of a job, by its number in the array; 0 for a job without one."""
        found = {}
        for record in self.ask("scontrol", "show", "job", job, "--oneliner").splitlines():
            task = re.search(r"\bArrayTaskId=(\d+)\b", record)
            state = re.search(r"\bJobState=(\w+)", record)
            status = re.search(r"\bExitCode=(\d+):(\d+)", record)
            if state and status:
                ended_by = 128 + int(status[2]) if status[2] != "0" else 0
                found[int(task[1]) if task else 0] = (state[1], int(status[1]) or ended_by)
        return found

    def wait(self, job, seconds=300):
        """Waits until every task of a job has ended. Returns what tasks() returns."""
        deadline = time.monotonic() + seconds
        while True:
            tasks = self.tasks(job)
            pending = self.ask("squeue", "--noheader", "--format=%i %t", f"--jobs={job}").strip()
            if tasks and not pending and all(state in ENDED for state, _ in tasks.values()):
                return tasks
            assert time.monotonic() < deadline, f"job {job} did not end: {tasks}, {pending}; see {self.jobs}"
            time.sleep(0.2)

    def log(self, job, task=None):
        file = self.jobs / (f"slurm-{job}.out" if task is None else f"slurm-{job}_{task}.out")
        return file.read_text() if file.exists() else ""
