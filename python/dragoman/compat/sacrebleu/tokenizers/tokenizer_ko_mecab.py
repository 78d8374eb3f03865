"""TokenizerKoMecab, where users of sacreBLEU import it from."""

from .engine import TokenizerKoMecab

__all__ = ["TokenizerKoMecab"]
