"""Converters of models, which this package does not have: each class raises NotImplementedError."""

from __future__ import annotations

from ._uncovered import uncovered

_REMEDY = (
    "dragoman.convert(INPUT, OUTPUT) reads models of transformers, Marian and fairseq, and "
    "dragoman.convert(..., to='ctranslate2') writes folders for CTranslate2"
)


def __getattr__(name: str) -> type:
    if not name[:1].isupper():  # no class
        raise AttributeError(name)
    return uncovered(f"converters.{name}", _REMEDY)
