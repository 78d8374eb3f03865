"""What the comparisons share: where things are, wheels of rivals, and the measuring of whole processes."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RIVALS = pathlib.Path(os.environ.get("DRAGOMAN_RIVALS", pathlib.Path.home() / ".cache/dragoman-rivals"))
DATA = pathlib.Path(os.environ.get("DRAGOMAN_DATA", ROOT / "../shared/data"))
DRAGOMAN = os.environ.get("DRAGOMAN", str(ROOT / "build/release/dragoman"))


def fail(message):
    sys.exit(f"compare: {message}")


def run(command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


def measure(command, stdin=None, stdout=subprocess.DEVNULL, environment=None, limit=None, messages=None):
    """Wall seconds, processor seconds and peak memory in MB of one whole process. This program must stay small itself: Linux counts the
    memory that it has at the fork as the child's. TimeoutError if it takes more seconds than the limit. Its standard error is appended to
    `messages`, if that is a list."""
    begin = time.perf_counter()
    with open(stdin or os.devnull, "rb") as source:
        process = subprocess.Popen([str(part) for part in command], stdin=source, stdout=stdout, stderr=subprocess.PIPE,
                                   env=os.environ | (environment or {}))
        watch = threading.Timer(limit or threading.TIMEOUT_MAX, process.kill)
        watch.start()
        message = process.stderr.read()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        watch.cancel()
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if limit and wall > limit and process.returncode == -signal.SIGKILL:
        raise TimeoutError(f"{command[0]} took more than {limit:.0f} seconds")
    if process.returncode != 0:
        fail(f"{' '.join(map(str, command))}: exit status {process.returncode}\n{message.decode()[-2000:]}")
    if messages is not None:
        messages.append(message.decode())
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def python_with(wheel, version=None):
    """A Python below $DRAGOMAN_RIVALS that has the wheel: the newest, or in an environment of its own the one that is asked for."""
    folder = RIVALS / (f"{wheel}-{version}" if version else "wheels")
    python = folder / "bin/python"
    if not python.exists():
        run([sys.executable, "-m", "venv", folder])
    if subprocess.run([python, "-c", f"import {wheel}"], stderr=subprocess.DEVNULL).returncode != 0:
        run([python, "-m", "pip", "install", "--quiet", f"{wheel}=={version}" if version else wheel])
    return python
