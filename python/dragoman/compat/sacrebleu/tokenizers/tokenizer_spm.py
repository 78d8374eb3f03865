"""The SentencePiece models, where users of sacreBLEU import them from."""

from .engine import Flores101Tokenizer, Flores200Tokenizer, TokenizerSPM
from .engine import SpBleu1KTokenizer as spBLEU1KTokenizer

__all__ = ["Flores101Tokenizer", "Flores200Tokenizer", "TokenizerSPM", "spBLEU1KTokenizer"]
