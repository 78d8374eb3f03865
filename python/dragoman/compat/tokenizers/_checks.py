"""Checks of arguments, with the errors of the package `tokenizers`."""

from __future__ import annotations

import operator
from typing import Any, Iterable, Mapping, Sequence

_LARGEST_SIZE = 2**64 - 1
_LARGEST_ID = 2**32 - 1


def size(value: Any, name: str) -> int:
    """Return a number of tokens."""
    return _whole(value, name, _LARGEST_SIZE)


def token_id(value: Any, name: str) -> int:
    """Return the id of a token, or of a type of tokens."""
    return _whole(value, name, _LARGEST_ID)


def text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    return value


def several(values: Any, name: str) -> Any:
    """Return a collection that is not one text, whose characters would be taken for its elements."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"Can't extract `str` to `Vec`: {name} must be a list, not one text")
    return values


def choice(value: Any, name: str, shown: str, choices: Sequence[str]) -> Any:
    """Return one of the choices, which the caller declares as a Literal."""
    if value not in choices:
        raise ValueError(f"Unknown `{name}`: `{value}`. Use one of {shown}")
    return value


def ignore_unknown(options: Mapping[str, Any], names: Iterable[str] = ()) -> dict[str, Any]:
    """Return the options with these names. Others are reported and have no effect."""
    known = set(names)
    for name in options:
        if name not in known:
            print(f"Ignored unknown kwarg option {name}")
    return {name: value for name, value in options.items() if name in known}


def _whole(value: Any, name: str, largest: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}") from None
    if not 0 <= number <= largest:
        raise OverflowError(f"{name} is {number}; it must be from 0 to {largest}")
    return number
