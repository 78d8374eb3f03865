"""Temporary folders whose work may still run when the interpreter ends."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import _core
from .errors import InterruptedCallError


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder that disappears afterwards, at the latest when the interpreter ends.

    A daemon thread may go on for a moment after that. It then gets an InterruptedCallError, as in every other call,
    instead of a word about files that have gone.
    """
    with tempfile.TemporaryDirectory(prefix="dragoman-", ignore_cleanup_errors=True) as folder:
        try:
            yield Path(folder)
        except OSError as error:
            if not _core.is_ending():
                raise
            raise InterruptedCallError("the interpreter is ending") from error
