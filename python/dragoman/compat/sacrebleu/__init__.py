"""A replacement for the package sacrebleu 2.6.

Scores, confidence intervals, p-values and signatures are those of sacreBLEU. The version in a signature is
`2.6.0+dragoman.VERSION`: sacreBLEU's version whose values these are, and the program that computed them.

Not covered: test sets and their download (read the files and pass the texts), and the program `sacrebleu`, which
`dragoman evaluate` replaces.

>>> from dragoman.compat import sacrebleu
>>> sacrebleu.corpus_bleu(["The dog bit the man.", "It slept."], [["The dog bit the man.", "It was asleep."]])
BLEU = 75.54 88.9/71.4/80.0/100.0 (BP = 0.895 ratio = 0.900 hyp_len = 9 ref_len = 10)
"""

from . import dataset, significance, utils
from .compat import (
    corpus_bleu,
    corpus_chrf,
    corpus_ter,
    raw_corpus_bleu,
    sentence_bleu,
    sentence_chrf,
    sentence_ter,
)
from .dataset import DATASETS
from .metrics import BLEU, CHRF, TER
from .metrics.helpers import extract_char_ngrams, extract_word_ngrams
from .utils import (
    SACREBLEU_DIR,
    download_test_set,
    get_available_testsets,
    get_langpairs_for_testset,
    get_reference_files,
    get_source_file,
    smart_open,
)
from .version import __version__

__all__ = [
    "smart_open",
    "SACREBLEU_DIR",
    "download_test_set",
    "get_source_file",
    "get_reference_files",
    "get_available_testsets",
    "get_langpairs_for_testset",
    "extract_word_ngrams",
    "extract_char_ngrams",
    "DATASETS",
    "BLEU",
    "CHRF",
    "TER",
    "corpus_bleu",
    "raw_corpus_bleu",
    "sentence_bleu",
    "corpus_chrf",
    "sentence_chrf",
    "corpus_ter",
    "sentence_ter",
    "__version__",
    "dataset",
    "significance",
    "utils",
]
