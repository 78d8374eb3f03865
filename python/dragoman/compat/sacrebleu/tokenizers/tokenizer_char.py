"""TokenizerChar, where users of sacreBLEU import it from."""

from .engine import TokenizerChar

__all__ = ["TokenizerChar"]
