"""A replacement for the package `ctranslate2`: the same calls, computed by Dragoman.

>>> import dragoman
>>> from dragoman.compat import ctranslate2
>>> tokenizer = dragoman.Tokenizer("examples/multi30k/model/tokenizer.json")
>>> translator = ctranslate2.Translator("examples/multi30k/model")
>>> tokens = tokenizer.tokenize("Ein Hund läuft im Schnee.")
>>> result = translator.translate_batch([tokens], beam_size=4)[0]
>>> tokenizer.decode([tokenizer.id(token) for token in result.hypotheses[0]])
'A dog runs in the snow.'

`Translator` opens folders of CTranslate2, Dragoman's own model folders, and models of other toolkits, and has all
methods and options of CTranslate2 4.8. docs/move/ctranslate2.md lists the differences. The rest of the package
(converters, `Generator`, `Encoder`, `StorageView`, Whisper) raises NotImplementedError, with the name of what covers
it.
"""

from ._logging import get_log_level, set_log_level
from ._results import (
    AsyncScoringResult,
    AsyncTranslationResult,
    ExecutionStats,
    GenerationStepResult,
    ScoringResult,
    TranslationResult,
)
from ._system import contains_model, get_cuda_device_count, get_supported_compute_types, set_random_seed
from ._translator import Translator
from ._uncovered import (
    AsyncGenerationResult,
    DataType,
    Device,
    Encoder,
    EncoderForwardOutput,
    GenerationResult,
    Generator,
    MpiInfo,
    StorageView,
)
from . import converters, models, specs

#: The version of CTranslate2 whose interface this is.
__version__ = "4.8.5"

__all__ = [
    "AsyncGenerationResult",
    "AsyncScoringResult",
    "AsyncTranslationResult",
    "DataType",
    "Device",
    "Encoder",
    "EncoderForwardOutput",
    "ExecutionStats",
    "GenerationResult",
    "GenerationStepResult",
    "Generator",
    "MpiInfo",
    "ScoringResult",
    "StorageView",
    "TranslationResult",
    "Translator",
    "__version__",
    "contains_model",
    "converters",
    "get_cuda_device_count",
    "get_log_level",
    "get_supported_compute_types",
    "models",
    "set_log_level",
    "set_random_seed",
    "specs",
]
