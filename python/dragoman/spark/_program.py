"""The program of this package, as tasks run it."""

from __future__ import annotations

import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import IO

from ..errors import Error


def program() -> str:
    """Return the path of the program."""
    return str(Path(__file__).parents[1] / "_native" / "bin" / "dragoman")


def require_success(status: int, command: str, messages: IO[bytes]) -> None:
    """Raise the error with the messages of a command unless its status is 0."""
    if status == 0:
        return
    messages.seek(0)
    said = messages.read().decode("utf-8", "replace").strip()
    if status == -signal.SIGKILL:
        said = "it was killed, probably because memory ran out. Raise spark.executor.memoryOverhead"
    raise Error(f"{socket.gethostname()}: dragoman {command} ended with status {status}: {said}")


def require_options(command: str, *options: str) -> None:
    """Raise the error of the program about these options, here and before a job starts."""
    with tempfile.TemporaryFile() as messages:
        words = [program(), command, *options, "--quiet"]
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
        require_success(ended.returncode, command, messages)
