"""BLEU (Papineni et al., ACL 2002)."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from dragoman import _core

from ..tokenizers import TOKENIZERS, BaseTokenizer
from ..tokenizers.engine import EngineTokenizer
from .base import Metric, References, Score, Signature, logger

MAX_NGRAM_ORDER = 4

_TOKENIZERS = TOKENIZERS


def _get_tokenizer(name: str) -> type[BaseTokenizer]:
    """Return the class of a tokenizer by its name."""
    return _TOKENIZERS[name]


class BLEUSignature(Signature):
    """The signature of BLEU."""

    def __init__(self, args: dict[str, Any]) -> None:
        super().__init__(args)
        self._abbr.update({"case": "c", "eff": "e", "tok": "tok", "smooth": "s"})
        smooth = args["smooth_method"]
        default = BLEU.SMOOTH_DEFAULTS[smooth]
        if default is not None:
            value = args["smooth_value"]
            smooth += f"[{default if value is None else value:.2f}]"
        self.info.update(
            {
                "case": "lc" if args["lowercase"] else "mixed",
                "eff": "yes" if args["effective_order"] else "no",
                "tok": args["tokenizer_signature"],
                "smooth": smooth,
            }
        )


class BLEUScore(Score):
    """A BLEU score.

    Attributes
    ----------
    counts, totals
        The n-grams that matched, and all of them, for each order.
    precisions
        Their quotients with smoothing, 0 to 100.
    bp
        The brevity penalty.
    sys_len, ref_len, ratio
        The lengths in tokens, and their quotient.
    """

    def __init__(
        self,
        score: float,
        counts: list[int],
        totals: list[int],
        precisions: list[float],
        bp: float,
        sys_len: int,
        ref_len: int,
    ) -> None:
        super().__init__("BLEU", score)
        self.bp = bp
        self.counts = counts
        self.totals = totals
        self.sys_len = sys_len
        self.ref_len = ref_len
        self.precisions = precisions
        self.prec_str = "/".join(f"{each:.1f}" for each in precisions)
        self.ratio = sys_len / ref_len if ref_len else 0
        lengths = f"ratio = {self.ratio:.3f} hyp_len = {sys_len:d} ref_len = {ref_len:d}"
        self._verbose = f"{self.prec_str} (BP = {bp:.3f} {lengths})"


class BLEU(Metric[BLEUScore]):
    """BLEU as sacreBLEU computes it.

    Parameters
    ----------
    lowercase
        Whether to ignore case.
    force
        Whether to leave out the warning about text that looks tokenized.
    tokenize
        One of `BLEU.TOKENIZERS`; by default that of `trg_lang`, or 13a.
    smooth_method, smooth_value
        "exp", "floor", "add-k" or "none", and the value of floor and add-k.
    max_ngram_order
        The longest n-gram.
    effective_order
        Whether to omit the orders for which the hypothesis is too short. Meant for single sentences.
    trg_lang
        The target language: zh, ja and ko have tokenizers of their own.
    references
        The references for corpus_score(hypotheses, None).

    Examples
    --------
    >>> bleu = BLEU(lowercase=True)
    >>> bleu.corpus_score(["The cat sat on the mat."], [["the cat sat on the mat."]]).score
    100.00000000000004
    >>> print(bleu.get_signature())  # doctest: +ELLIPSIS
    nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.6.0+dragoman...
    """

    SMOOTH_DEFAULTS: dict[str, Optional[float]] = {"none": None, "floor": 0.1, "add-k": 1, "exp": None}
    TOKENIZERS = _TOKENIZERS.keys()
    TOKENIZER_DEFAULT = "13a"

    _TOKENIZER_MAP = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
    _SIGNATURE_TYPE = BLEUSignature

    def __init__(
        self,
        lowercase: bool = False,
        force: bool = False,
        tokenize: Optional[str] = None,
        smooth_method: str = "exp",
        smooth_value: Optional[float] = None,
        max_ngram_order: int = MAX_NGRAM_ORDER,
        effective_order: bool = False,
        trg_lang: str = "",
        references: Optional[References] = None,
    ) -> None:
        super().__init__()
        assert smooth_method in self.SMOOTH_DEFAULTS, f"Unknown smooth_method {smooth_method!r}"
        self._force = force
        self.trg_lang = trg_lang
        self.lowercase = lowercase
        self.smooth_value = smooth_value
        self.smooth_method = smooth_method
        self.max_ngram_order = max_ngram_order
        self.effective_order = effective_order
        own = self._TOKENIZER_MAP.get(trg_lang, self.TOKENIZER_DEFAULT)
        if tokenize is not None and trg_lang in self._TOKENIZER_MAP and tokenize != own:
            logger.warning("The tokenizer for the language %r is %s.", trg_lang, own)
        self.tokenizer = _get_tokenizer(own if tokenize is None else tokenize)()
        self.tokenizer_signature = self.tokenizer.signature()
        if references is not None:
            self._ref_cache = self._cache_references(references)

    def _make(self) -> _core.Metric:
        name, separate = self.tokenizer_signature, None
        if not isinstance(self.tokenizer, EngineTokenizer):
            separate = self.tokenizer
        return _core.bleu(
            name,
            separate,
            self.smooth_method,
            self.smooth_value,
            self.lowercase,
            self.effective_order,
            self.max_ngram_order,
        )

    def _compute_score_from_stats(self, stats: Any) -> BLEUScore:
        return _score(self._make(), stats, self.smooth_method, self.smooth_value, self.max_ngram_order)

    def sentence_score(self, hypothesis: str, references: Sequence[str]) -> BLEUScore:
        """Return the score of one segment; as Metric.sentence_score()."""
        if not self.effective_order:
            logger.warning("The score of a single sentence needs `effective_order=True`.")
        return super().sentence_score(hypothesis, references)

    @staticmethod
    def compute_bleu(
        correct: Sequence[int],
        total: Sequence[int],
        sys_len: int,
        ref_len: int,
        smooth_method: str = "none",
        smooth_value: Optional[float] = None,
        effective_order: bool = False,
        max_ngram_order: int = MAX_NGRAM_ORDER,
    ) -> BLEUScore:
        """Return the score of counts: matches and all n-grams of each order, and the lengths in tokens."""
        assert smooth_method in BLEU.SMOOTH_DEFAULTS, f"Unknown smooth_method {smooth_method!r}"
        metric = _core.bleu("none", None, smooth_method, smooth_value, False, effective_order, max_ngram_order)
        statistics = [sys_len, ref_len, *correct, *total]
        return _score(metric, statistics, smooth_method, smooth_value, max_ngram_order)


def _score(metric: _core.Metric, stats: Any, method: str, value: Optional[float], order: int) -> BLEUScore:
    statistics = np.ascontiguousarray(stats, dtype=np.float64)
    score, penalty, precisions = metric.bleu_parts(statistics)
    lengths, counts = statistics[:2].astype(int).tolist(), statistics[2:].astype(int).tolist()
    correct, total = counts[:order], counts[order:]
    if method == "add-k" and any(correct):
        # sacreBLEU's counts of all orders but the first contain the value.
        added = BLEU.SMOOTH_DEFAULTS[method] if value is None else value
        correct[1:] = [each + added for each in correct[1:]]
        total[1:] = [each + added for each in total[1:]]
    return BLEUScore(score, correct, total, precisions, penalty, *lengths)
