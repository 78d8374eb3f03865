"""The exceptions of the package.

All of them derive from `Error`. A message is one line: it says what is wrong, where (file, line, key), and what to do.
"""

from __future__ import annotations

from typing import Optional


class Error(Exception):
    """The base of all errors of Dragoman.

    Attributes
    ----------
    key
        The option that the error is about, as the keyword is spelled (`"beam_size"`), or None.
    location
        The place in Dragoman's own source, for bug reports.
    """

    key: Optional[str] = None
    location: str = ""


class InvalidArgumentError(Error, ValueError):
    """A caller broke the contract of a function."""


class BadInputError(Error, ValueError):
    """A file or a text from outside is malformed, or an option has a wrong value."""


class FileError(Error, OSError):
    """The operating system refused: a missing file, a full disk, no permission."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or folder."""


class UnsupportedError(Error, NotImplementedError):
    """The request is valid, but not available here."""


class InterruptedCallError(Error, RuntimeError):
    """A stop was requested, for example because the interpreter is ending."""


class InternalError(Error, RuntimeError):
    """A fault of Dragoman itself. Please report it."""
