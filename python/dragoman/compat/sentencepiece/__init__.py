"""A replacement for the package sentencepiece, version 0.2.3.

    from dragoman.compat import sentencepiece as spm

    sp = spm.SentencePieceProcessor(model_file="m.model")
    ids = sp.encode("Guten Morgen!")

The ids, pieces, offsets and texts are those of the package. Draws are other ones, from the same distribution; trained
models are other ones, too, and the package reads them. docs/move/sentencepiece.md names the differences.

The messages of `sentencepiece_pb2` and `sentencepiece_model_pb2` need no further package.
"""

from __future__ import annotations

from typing import Any as _Any

from . import sentencepiece_model_pb2, sentencepiece_pb2
from ._base import ThreadPool
from ._model import (
    set_data_dir,
    set_min_log_level,
    set_nbest_timeout,
    set_random_generator_seed,
)
from ._normalizer import SentencePieceNormalizer
from ._processor import SentencePieceProcessor
from ._trainer import SentencePieceTrainer
from .sentencepiece_pb2 import NBestSentencePieceText, SentencePieceText

__version__ = "0.2.3"

#: The names of versions before 0.2.3. Their offsets count characters: see EncodeAsImmutableProto().
ImmutableSentencePieceText = SentencePieceText
ImmutableNBestSentencePieceText = NBestSentencePieceText
ImmutableSentencePieceText_ImmutableSentencePiece = SentencePieceText.SentencePiece

SetDataDir = set_data_dir
SetMinLogLevel = set_min_log_level
SetNBestTimeout = set_nbest_timeout
SetRandomGeneratorSeed = set_random_generator_seed


def convert_to_flatbuffer(*args: _Any, **kwargs: _Any) -> _Any:
    """Raise NotImplementedError: the models of SentencePiece's small runtime are made by SentencePiece only."""
    raise NotImplementedError(
        "models of SentencePiece's small runtime (.spm.fb) are not supported; spm.SentencePieceProcessor reads .model"
    )


ConvertToFlatbuffer = convert_to_flatbuffer


__all__ = [
    "ConvertToFlatbuffer",
    "ImmutableNBestSentencePieceText",
    "ImmutableSentencePieceText",
    "ImmutableSentencePieceText_ImmutableSentencePiece",
    "NBestSentencePieceText",
    "SentencePieceNormalizer",
    "SentencePieceProcessor",
    "SentencePieceText",
    "SentencePieceTrainer",
    "SetDataDir",
    "SetMinLogLevel",
    "SetNBestTimeout",
    "SetRandomGeneratorSeed",
    "ThreadPool",
    "convert_to_flatbuffer",
    "sentencepiece_model_pb2",
    "sentencepiece_pb2",
    "set_data_dir",
    "set_min_log_level",
    "set_nbest_timeout",
    "set_random_generator_seed",
]
