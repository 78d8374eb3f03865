"""A replacement for the package subword-nmt 0.3.8.

Codes are learned and applied as subword-nmt does: codes files are equal to the byte, and so are segmented lines. The
draws of BPE-dropout are others, and follow Python's `random.seed()`.

>>> import io
>>> from dragoman.compat.subword_nmt.learn_bpe import learn_bpe
>>> from dragoman.compat.subword_nmt.apply_bpe import BPE
>>> codes = io.StringIO()
>>> learn_bpe(io.StringIO("low lower lowest"), codes, num_symbols=3)
>>> BPE(codes).process_line("lowest low")
'lowe@@ s@@ t lo@@ w'

The program `subword-nmt` is `python -m dragoman.compat.subword_nmt`.

Not covered: byte-level codes (`is_bytes`), and what `_ELSEWHERE` names.
"""

from typing import Any

from . import apply_bpe, get_vocab, learn_bpe, learn_joint_bpe_and_vocab

__version__ = "0.3.8"

__all__ = ["apply_bpe", "get_vocab", "learn_bpe", "learn_joint_bpe_and_vocab"]

#: Modules that are not covered, and what covers them.
_ELSEWHERE = {
    "chrF": 'dragoman.evaluate(hypotheses, references, "chrf") computes chrF',
    "segment_char_ngrams": "split rare words into n-grams before BPE.process_line()",
    "bpe_toy": "learn_bpe.learn_bpe() learns the same merges",
}


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        raise NotImplementedError(f"subword_nmt.{name} is not available in dragoman.compat: {_ELSEWHERE[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
