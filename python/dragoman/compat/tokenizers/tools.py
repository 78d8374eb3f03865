"""Tools that are not covered."""

from __future__ import annotations

from typing import Any


class EncodingVisualizer:
    """Not supported: a page that shows the tokens of a text."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("EncodingVisualizer is not supported; Encoding.offsets has what it shows")


class Annotation:
    """Not supported: a mark in the page of EncodingVisualizer."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("Annotation is not supported; Encoding.char_to_token() finds the tokens of a range")
