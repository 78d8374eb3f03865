"""The level of messages on standard error."""

from __future__ import annotations

import logging
import os

_LEVELS = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, logging.NOTSET)
_level = logging.WARNING


def set_log_level(level: int) -> None:
    """Set the level of messages, a level of the module `logging`."""
    global _level
    if level not in _LEVELS:
        raise ValueError(f"Level {level} is not a valid logging level")
    _level = level


def get_log_level() -> int:
    """Return the level of messages."""
    return _level


def info(message: str) -> None:
    """Write a message to the file descriptor of standard error, if the level is INFO or lower."""
    if _level <= logging.INFO:
        os.write(2, f"[dragoman] [info] {message}\n".encode())
