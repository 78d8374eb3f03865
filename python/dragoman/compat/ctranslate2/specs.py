"""Specifications of models, which this package does not have: each class raises NotImplementedError."""

from __future__ import annotations

from ._uncovered import uncovered

_REMEDY = "dragoman.convert(INPUT, OUTPUT, to='ctranslate2') writes a model for CTranslate2"


def __getattr__(name: str) -> type:
    if not name[:1].isupper():  # no class
        raise AttributeError(name)
    return uncovered(f"specs.{name}", _REMEDY)
