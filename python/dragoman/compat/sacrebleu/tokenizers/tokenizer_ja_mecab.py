"""TokenizerJaMecab, where users of sacreBLEU import it from."""

from .engine import TokenizerJaMecab

__all__ = ["TokenizerJaMecab"]
