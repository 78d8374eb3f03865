"""A replacement for the package `tokenizers`: its calls, with Dragoman's engine.

Change `from tokenizers import Tokenizer` to `from dragoman.compat.tokenizers import Tokenizer`.
Ids, tokens, offsets and masks are the same.
Parts of a tokenizer.json that the engine cannot reproduce are refused with an error that names them.

Examples
--------
>>> from dragoman.compat.tokenizers import Tokenizer
>>> tokenizer = Tokenizer.from_file("examples/multi30k/model/tokenizer.json")
>>> [encoding.tokens for encoding in tokenizer.encode_batch(["Ein Hund", "Zwei Hunde"])]
[['▁Ein', '▁Hund'], ['▁Zwei', '▁Hunde']]
"""

from __future__ import annotations

from enum import Enum
from typing import List, Tuple, Union

from . import decoders, models, normalizers, pre_tokenizers, processors, trainers
from ._added_token import AddedToken
from ._encoding import Encoding
from ._parts import Regex
from ._strings import NormalizedString, PreTokenizedString, Token
from ._tokenizer import Tokenizer
from .implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)

#: The version of the package whose results these are.
__version__ = "0.23.3"

Offsets = Tuple[int, int]
TextInputSequence = str
PreTokenizedInputSequence = Union[List[str], Tuple[str]]
TextEncodeInput = Union[TextInputSequence, Tuple[TextInputSequence, TextInputSequence], List[TextInputSequence]]
PreTokenizedEncodeInput = Union[
    PreTokenizedInputSequence,
    Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence],
    List[PreTokenizedInputSequence],
]
InputSequence = Union[TextInputSequence, PreTokenizedInputSequence]
EncodeInput = Union[TextEncodeInput, PreTokenizedEncodeInput]


class OffsetReferential(Enum):
    ORIGINAL = "original"
    NORMALIZED = "normalized"


class OffsetType(Enum):
    BYTE = "byte"
    CHAR = "char"


class SplitDelimiterBehavior(Enum):
    REMOVED = "removed"
    ISOLATED = "isolated"
    MERGED_WITH_PREVIOUS = "merged_with_previous"
    MERGED_WITH_NEXT = "merged_with_next"
    CONTIGUOUS = "contiguous"


__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "EncodeInput",
    "Encoding",
    "InputSequence",
    "NormalizedString",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "PreTokenizedString",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "SplitDelimiterBehavior",
    "TextEncodeInput",
    "TextInputSequence",
    "Token",
    "Tokenizer",
    "decoders",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "trainers",
]
