"""The tokenizers of BLEU and TER."""

from .engine import (
    Flores101Tokenizer,
    Flores200Tokenizer,
    NoneTokenizer,
    SpBleu1KTokenizer,
    Tokenizer13a,
    TokenizerChar,
    TokenizerJaMecab,
    TokenizerKoMecab,
    TokenizerSPM,
    TokenizerV14International,
    TokenizerZh,
)
from .tokenizer_base import BaseTokenizer

#: The tokenizers of BLEU by their names.
TOKENIZERS: dict[str, type[BaseTokenizer]] = {
    "none": NoneTokenizer,
    "zh": TokenizerZh,
    "13a": Tokenizer13a,
    "intl": TokenizerV14International,
    "char": TokenizerChar,
    "ja-mecab": TokenizerJaMecab,
    "ko-mecab": TokenizerKoMecab,
    "spm": TokenizerSPM,
    "flores101": Flores101Tokenizer,
    "flores200": Flores200Tokenizer,
    "spBLEU-1K": SpBleu1KTokenizer,
}

__all__ = ["BaseTokenizer", "TOKENIZERS"]
