"""Models for speech, which this package does not have: each class raises NotImplementedError."""

from __future__ import annotations

from ._uncovered import uncovered

_REMEDY = "Dragoman translates text; its models are encoder-decoders, which ctranslate2.Translator opens"


def __getattr__(name: str) -> type:
    if not name[:1].isupper():  # no class
        raise AttributeError(name)
    return uncovered(f"models.{name}", _REMEDY)
