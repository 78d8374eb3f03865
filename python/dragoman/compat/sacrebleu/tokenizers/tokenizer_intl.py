"""TokenizerV14International, where users of sacreBLEU import it from."""

from .engine import TokenizerV14International

__all__ = ["TokenizerV14International"]
