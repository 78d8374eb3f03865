"""Tokenizer13a, where users of sacreBLEU import it from."""

from .engine import Tokenizer13a

__all__ = ["Tokenizer13a"]
