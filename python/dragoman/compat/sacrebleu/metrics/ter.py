"""Translation edit rate (Snover et al., AMTA 2006)."""

from __future__ import annotations

from typing import Any, Optional

from dragoman import _core

from ..tokenizers.tokenizer_ter import TercomTokenizer
from .base import Metric, References, Score, Signature


class TERSignature(Signature):
    """The signature of TER."""

    def __init__(self, args: dict[str, Any]) -> None:
        super().__init__(args)
        self._abbr.update({"case": "c", "tok": "t", "norm": "nr", "punct": "pn", "asian": "as"})
        self.info.update(
            {
                "case": "mixed" if args["case_sensitive"] else "lc",
                "tok": args["tokenizer_signature"],
                "norm": args["normalized"],
                "punct": not args["no_punct"],
                "asian": args["asian_support"],
            }
        )


class TERScore(Score):
    """A translation edit rate, with the number of edits and the mean length of the references."""

    def __init__(self, score: float, num_edits: float, ref_length: float) -> None:
        super().__init__("TER", score)
        self.num_edits = int(num_edits)
        self.ref_length = ref_length


class TER(Metric[TERScore]):
    """Translation edit rate as sacreBLEU and Tercom compute it.

    Parameters
    ----------
    normalized
        Whether to separate punctuation and resolve XML entities.
    no_punct
        Whether to remove punctuation.
    asian_support
        Whether `normalized` and `no_punct` extend to Chinese, Japanese and Korean.
    case_sensitive
        Whether case matters.
    references
        The references for corpus_score(hypotheses, None).

    Examples
    --------
    >>> TER().corpus_score(["d e f g h a b c"], [["a b c d e f g h"]])
    TER = 12.50
    """

    _SIGNATURE_TYPE = TERSignature

    def __init__(
        self,
        normalized: bool = False,
        no_punct: bool = False,
        asian_support: bool = False,
        case_sensitive: bool = False,
        references: Optional[References] = None,
    ) -> None:
        super().__init__()
        self.no_punct = no_punct
        self.normalized = normalized
        self.asian_support = asian_support
        self.case_sensitive = case_sensitive
        self.tokenizer = TercomTokenizer(normalized, no_punct, asian_support, case_sensitive)
        self.tokenizer_signature = self.tokenizer.signature()
        if references is not None:
            self._ref_cache = self._cache_references(references)

    def _make(self) -> _core.Metric:
        return _core.ter(self.normalized, self.no_punct, self.asian_support, self.case_sensitive)

    def _compute_score_from_stats(self, stats: Any) -> TERScore:
        return TERScore(self._value(stats), float(stats[0]), float(stats[1]))
