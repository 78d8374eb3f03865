"""Scores, signatures and metrics in general."""

from __future__ import annotations

import json
import logging
import os
import random
from typing import Any, Generic, Optional, Sequence, TypeVar

import numpy as np
import numpy.typing as npt

from dragoman import _core

from ..version import __version__

logger = logging.getLogger("sacrebleu")

Statistics = npt.NDArray[np.float64]
References = Sequence[Sequence[Optional[str]]]

#: So many hypotheses that end with " ." lead to a warning.
_TOKENIZED_LINES = 100


def seed_of_environment() -> int | None:
    """Return the seed that SACREBLEU_SEED names; None for "none", which means another one each time."""
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    return None if seed.lower() == "none" else int(seed)


def drawn(seed: int | None) -> int:
    """Return the seed, or a random one for None."""
    return random.SystemRandom().getrandbits(32) if seed is None else seed


class Score:
    """The score of a text.

    Attributes
    ----------
    name
        "BLEU", "chrF2", "chrF2++" or "TER".
    score
        0 to 100; TER may exceed 100.
    """

    def __init__(self, name: str, score: float) -> None:
        self.name = name
        self.score = score
        # The mean of bootstrap resamples and half the width of the interval of 95 % of them; -1 without a bootstrap.
        self._mean = -1.0
        self._ci = -1.0
        self._verbose = ""

    def format(self, width: int = 2, score_only: bool = False, signature: str = "", is_json: bool = False) -> str:
        """Return the score as text.

        Parameters
        ----------
        width
            The number of decimals.
        score_only
            Whether to return the number alone, with its confidence interval.
        signature
            The signature of the metric.
        is_json
            Whether to return a JSON object.
        """
        number = f"{self.score:.{width}f}"
        fields: dict[str, Any] = {"name": self.name, "score": float(number), "signature": signature}
        text = number
        if self._mean > 0:
            mean, half = f"{self._mean:.{width}f}", f"{self._ci:.{width}f}"
            interval = f"μ = {mean} ± {half}"
            text = f"{number} ({interval})"
            fields |= {"confidence_mean": float(mean), "confidence_var": float(half), "confidence": interval}
        if score_only:
            return text
        if not is_json:
            title = f"{self.name}|{signature}" if signature else self.name
            return f"{title} = {text}" + (f" {self._verbose}" if self._verbose else "")
        if self._verbose:
            fields["verbose_score"] = self._verbose
        fields |= dict(each.split(":") for each in signature.split("|"))
        return json.dumps(fields, indent=1, ensure_ascii=False)

    def estimate_ci(self, scores: Sequence[Score]) -> None:
        """Set mean and confidence interval from the scores of resamples."""
        self._mean, self._ci = _core.confidence_interval([each.score for each in scores])

    def __repr__(self) -> str:
        return self.format()


class Signature:
    """What another person needs to compute the same score: the metric, its options, and the version.

    Parameters
    ----------
    args
        The attributes of a metric that has been evaluated.
    """

    def __init__(self, args: dict[str, Any]) -> None:
        if "num_refs" not in args:
            raise ValueError("the number of references is not known yet; compute a score first")
        references = args["num_refs"]
        self._abbr = {
            "version": "v",
            "nrefs": "#",
            "test": "t",
            "lang": "l",
            "subset": "S",
            "origlang": "o",
            "bs": "bs",
            "ar": "ar",
            "seed": "rs",
        }
        self.info: dict[str, Any] = {
            "version": __version__,
            "nrefs": "var" if references == -1 else references,
            "bs": args.get("n_bootstrap"),
            "ar": None,
            "seed": args.get("seed"),
            "test": args.get("test_set"),
            "lang": args.get("langpair"),
            "origlang": args.get("origlang"),
            "subset": args.get("subset"),
        }

    def format(self, short: bool = False) -> str:
        """Return the signature as text; `short` abbreviates the keys."""

        def pair(key: str) -> str:
            value = self.info[key]
            if isinstance(value, bool):
                value = "yes" if value else "no"
            return f"{self._abbr[key] if short else key}:{value}"

        keys = [each for each in self.info if each != "version"] + ["version"]
        return "|".join(pair(key) for key in keys if self.info[key] is not None)

    def update(self, key: str, value: Any) -> None:
        """Set one entry."""
        self.info[key] = value

    def __repr__(self) -> str:
        return self.format()


ScoreType = TypeVar("ScoreType", bound=Score)


class Metric(Generic[ScoreType]):
    """A metric of the engine with sacreBLEU's methods.

    A class that derives from it says how the engine's metric is made (`_make`) and what its score is
    (`_compute_score_from_stats`).
    """

    _SIGNATURE_TYPE: type[Signature] = Signature

    def __init__(self) -> None:
        self._ref_cache: list[list[str]] | None = None
        self._force = True
        self.n_bootstrap: int | None = None
        self.seed: str | None = None
        self.num_refs: int

    def _make(self) -> _core.Metric:
        raise NotImplementedError(
            "metrics of one's own cannot be derived from this class; derive from that of the package sacrebleu"
        )

    def _compute_score_from_stats(self, stats: Any) -> ScoreType:
        raise NotImplementedError

    def _aggregate_and_compute(self, stats: Any) -> ScoreType:
        return self._compute_score_from_stats(np.asarray(stats, dtype=np.float64).sum(axis=0))

    def _value(self, stats: Any) -> float:
        """Return the score of a text with these sums."""
        return self._make().value(np.ascontiguousarray(stats, dtype=np.float64))

    def _cache_references(self, references: References) -> list[list[str]]:
        """Return the references of each segment, without those that are None, and note their number."""
        segments = [[each for each in segment if each is not None] for segment in zip(*references)]
        numbers = {len(each) for each in segments}
        self.num_refs = numbers.pop() if len(numbers) == 1 else -1
        return segments

    def _extract_corpus_statistics(self, hypotheses: Sequence[str], references: References | None) -> Statistics:
        """Return the statistics of each segment, of shape (segments, statistics)."""
        segments = self._cache_references(references) if references else self._ref_cache
        if not segments:
            raise RuntimeError("there are no references; pass some, or give them to the metric's constructor")
        pairs = list(zip(hypotheses, segments))
        if not self._force and sum(each.endswith(" .") for each, _ in pairs) >= _TOKENIZED_LINES:
            logger.warning(
                "%d or more lines end with a separate period, as tokenized text does. The score is that of "
                "detokenized text only. Pass force=True to leave this message out.",
                _TOKENIZED_LINES,
            )
        metric = self._make()
        if self.num_refs > 0:
            streams = [[segment[i] for _, segment in pairs] for i in range(self.num_refs)]
            return np.asarray(metric.count_segments([hypothesis for hypothesis, _ in pairs], streams), np.float64)
        return np.array([metric.count_segment(hypothesis, segment) for hypothesis, segment in pairs])

    def sentence_score(self, hypothesis: str, references: Sequence[str]) -> ScoreType:
        """Return the score of one segment.

        Parameters
        ----------
        hypothesis
            The translation.
        references
            Its references.
        """
        name = type(self).__name__
        if not isinstance(hypothesis, str):
            raise TypeError(f"{name}: The argument `hyp` should be a string.")
        if isinstance(references, str) or not isinstance(references, Sequence):
            raise TypeError(f"{name}: The argument `refs` should be a sequence of strings.")
        if not isinstance(references[0], str) and references[0] is not None:
            raise TypeError(f"{name}: Each element of `refs` should be a string.")
        return self._aggregate_and_compute(self._extract_corpus_statistics([hypothesis], [[r] for r in references]))

    def corpus_score(
        self, hypotheses: Sequence[str], references: References | None, n_bootstrap: int = 1
    ) -> ScoreType:
        """Return the score of a text.

        Parameters
        ----------
        hypotheses
            The translations.
        references
            Streams with the length of `hypotheses`; a segment may be None in some. None: those of the constructor.
        n_bootstrap
            More than 1: the number of resamples for a confidence interval. The seed is the environment's
            SACREBLEU_SEED, by default 12345.
        """
        self._check(hypotheses, references)
        statistics = self._extract_corpus_statistics(hypotheses, references)
        score = self._aggregate_and_compute(statistics)
        if n_bootstrap > 1:
            seed = seed_of_environment()
            values = np.asarray(self._make().bootstrap(statistics, max(self.num_refs, 1), n_bootstrap, drawn(seed)))
            score._mean, score._ci = _core.confidence_interval(values.tolist())
            self.n_bootstrap = n_bootstrap
            self.seed = str(seed).lower()
        return score

    def _check(self, hypotheses: Sequence[str], references: References | None) -> None:
        name = type(self).__name__
        if not isinstance(hypotheses, Sequence):
            raise TypeError(f"{name}: `hyps` should be a sequence of strings.")
        if not isinstance(hypotheses[0], str):
            raise TypeError(f"{name}: Each element of `hyps` should be a string.")
        if any(line is None for line in hypotheses):
            raise TypeError(f"{name}: Undefined line in hypotheses stream!")
        if references is None:
            return
        if not isinstance(references, Sequence):
            raise TypeError(f"{name}: `refs` should be a sequence of sequence of strings.")
        if not isinstance(references[0], Sequence):
            raise TypeError(f"{name}: Each element of `refs` should be a sequence of strings.")
        if not isinstance(references[0][0], str) and references[0][0] is not None:
            raise TypeError(f"{name}: `refs` should be a sequence of sequence of strings.")

    def get_signature(self) -> Signature:
        """Return the signature, once a score has been computed."""
        return self._SIGNATURE_TYPE(self.__dict__)
