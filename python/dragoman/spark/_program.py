"""The program of this package, as tasks run it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import IO

from ..errors import Error


def program() -> str:
    """Return the path of the program."""
    return str(Path(__file__).parents[1] / "_native" / "bin" / "dragoman")


def require_success(status: int, command: str, messages: IO[bytes]) -> None:
    """Raise the error with the messages of a command unless its status is 0."""
    if status != 0:
        messages.seek(0)
        said = messages.read().decode("utf-8", "replace").strip()
        raise Error(f"{socket.gethostname()}: dragoman {command} ended with status {status}: {said}")
