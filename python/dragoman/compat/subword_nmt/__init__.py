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

Not covered: byte-level codes (`is_bytes`), and the program `subword-nmt`, which `dragoman encode` replaces.
"""

from . import apply_bpe, get_vocab, learn_bpe, learn_joint_bpe_and_vocab

__version__ = "0.3.8"

__all__ = ["apply_bpe", "get_vocab", "learn_bpe", "learn_joint_bpe_and_vocab"]
