"""Neural machine translation: tokenizers, training, and fast translation.

>>> import dragoman
>>> translator = dragoman.Translator("examples/multi30k/model")
>>> translator.translate("Ein Hund läuft im Schnee.")
'A dog runs in the snow.'

The package is the engine of the program `dragoman`: same results, same option names. `dragoman.compat` has drop-in
replacements for ctranslate2, sentencepiece, tokenizers, sacrebleu, youtokentome and subword_nmt.
"""

import atexit as _atexit
import os as _os
import weakref as _weakref

from . import _core
from ._evaluate import MetricScore, SystemComparison, compare_systems, evaluate
from . import compat
from ._extension import LineCounts, load_plugin, logits_processor, run_pipeline, stage
from ._model import Model
from ._options import LearnBpeOptions, LearnUnigramOptions, LogFunction, Progress, ProgressFunction, SearchOptions, TranslateOptions
from ._services import Aligner, Alignment, Embedder, Score, Scorer
from ._tokenizer import EncodedBatch, Offsets, Tokenizer, learn_bpe, learn_unigram
from ._train import TrainConfig, TrainResult, convert, quantize, train
from ._translator import Translation, Translator
from ._translator import fail_open_futures as _fail_open_futures
from .errors import (
    BadInputError,
    Error,
    FileError,
    InternalError,
    InterruptedCallError,
    InvalidArgumentError,
    MissingFileError,
    UnsupportedError,
)

__version__: str = _core.version

__all__ = [
    "Aligner",
    "Alignment",
    "BadInputError",
    "EncodedBatch",
    "Embedder",
    "Error",
    "FileError",
    "InternalError",
    "InterruptedCallError",
    "InvalidArgumentError",
    "LearnBpeOptions",
    "LearnUnigramOptions",
    "LineCounts",
    "LogFunction",
    "MetricScore",
    "MissingFileError",
    "Model",
    "Offsets",
    "Progress",
    "ProgressFunction",
    "Score",
    "Scorer",
    "SearchOptions",
    "SystemComparison",
    "Tokenizer",
    "TrainConfig",
    "TrainResult",
    "TranslateOptions",
    "Translation",
    "Translator",
    "UnsupportedError",
    "compare_systems",
    "compat",
    "convert",
    "evaluate",
    "learn_bpe",
    "learn_unigram",
    "load_plugin",
    "logits_processor",
    "quantize",
    "run_pipeline",
    "stage",
    "train",
    "__version__",
]

# Worker threads call Python, so they must be done before the interpreter is; and they do not survive a fork. They read
# temporary folders, too, which finalizers remove. Functions at the exit run last to first, and the first finalizer
# registers theirs: one that does nothing puts all of them behind the threads.
_weakref.finalize(_core.Model, lambda: None)
_atexit.register(_core.at_exit)
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_core.after_fork)
    _os.register_at_fork(after_in_child=_fail_open_futures)
