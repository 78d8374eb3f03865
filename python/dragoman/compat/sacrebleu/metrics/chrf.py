"""chrF (Popović, WMT 2015) and chrF++ (Popović, WMT 2017)."""

from __future__ import annotations

from typing import Any, Optional

from dragoman import _core

from .base import Metric, References, Score, Signature


class CHRFSignature(Signature):
    """The signature of chrF."""

    def __init__(self, args: dict[str, Any]) -> None:
        super().__init__(args)
        self._abbr.update({"case": "c", "eff": "e", "nc": "nc", "nw": "nw", "space": "s"})
        self.info.update(
            {
                "case": "lc" if args["lowercase"] else "mixed",
                "eff": "no" if args["eps_smoothing"] else "yes",
                "nc": args["char_order"],
                "nw": args["word_order"],
                "space": "yes" if args["whitespace"] else "no",
            }
        )


class CHRFScore(Score):
    """A chrF score, with the orders and the weight of recall."""

    def __init__(self, score: float, char_order: int, word_order: int, beta: int) -> None:
        super().__init__(f"chrF{beta}" + "+" * word_order, score)
        self.beta = beta
        self.char_order = char_order
        self.word_order = word_order


class CHRF(Metric[CHRFScore]):
    """chrF as sacreBLEU computes it.

    Parameters
    ----------
    char_order, word_order
        The longest n-grams of characters and of words. `word_order=2` is chrF++.
    beta
        The weight of recall over precision.
    lowercase
        Whether to ignore case.
    whitespace
        Whether whitespace counts as characters.
    eps_smoothing
        Whether to average the F-scores of all orders, instead of precision and recall of the orders that occur.
    references
        The references for corpus_score(hypotheses, None).

    Examples
    --------
    >>> CHRF(word_order=2).corpus_score(["The cat sat."], [["The cat sat."]])
    chrF2++ = 100.00
    """

    CHAR_ORDER = 6
    WORD_ORDER = 0
    BETA = 2

    _SIGNATURE_TYPE = CHRFSignature

    def __init__(
        self,
        char_order: int = CHAR_ORDER,
        word_order: int = WORD_ORDER,
        beta: int = BETA,
        lowercase: bool = False,
        whitespace: bool = False,
        eps_smoothing: bool = False,
        references: Optional[References] = None,
    ) -> None:
        super().__init__()
        self.beta = beta
        self.char_order = char_order
        self.word_order = word_order
        self.order = char_order + word_order
        self.lowercase = lowercase
        self.whitespace = whitespace
        self.eps_smoothing = eps_smoothing
        if references is not None:
            self._ref_cache = self._cache_references(references)

    def _make(self) -> _core.Metric:
        return _core.chrf(
            self.char_order, self.word_order, self.beta, self.lowercase, self.whitespace, self.eps_smoothing
        )

    def _compute_score_from_stats(self, stats: Any) -> CHRFScore:
        return CHRFScore(self._value(stats), self.char_order, self.word_order, self.beta)
