"""TokenizerZh, where users of sacreBLEU import it from."""

from .engine import TokenizerZh

__all__ = ["TokenizerZh"]
