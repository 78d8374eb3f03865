"""Paired tests of significance: bootstrap resampling and approximate randomization."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import numpy as np
import numpy.typing as npt

from dragoman import _core

from .metrics.base import Metric, References, Signature, drawn, seed_of_environment


class Result:
    """The result of a test for one system.

    Attributes
    ----------
    score
        The system's score.
    p_value
        How probable a difference to the baseline of this size is by chance; None for the baseline.
    mean, ci
        From the bootstrap: the mean, and half the width of the interval that holds 95 % of the resamples.
    """

    def __init__(
        self, score: float, p_value: Optional[float] = None, mean: Optional[float] = None, ci: Optional[float] = None
    ) -> None:
        self.score = score
        self.p_value = p_value
        self.mean = mean
        self.ci = ci

    def __repr__(self) -> str:
        return ",".join(f"{key}={value}" for key, value in self.__dict__.items())


def estimate_ci(scores: npt.ArrayLike) -> tuple[float, float]:
    """Return the mean of scores, and half the width of the interval that holds 95 % of them."""
    mean, half = _core.confidence_interval(np.asarray(scores, dtype=np.float64).tolist())
    return mean, half


class PairedTest:
    """Compares systems with the first one, the baseline. Call the object to run the test.

    The seed is the environment's SACREBLEU_SEED, by default 12345.

    Parameters
    ----------
    named_systems
        Pairs of a name and translations.
    metrics
        The metrics by name.
    references
        Streams of references; None for those of each metric.
    test_type
        "ar" for approximate randomization, "bs" for paired bootstrap resampling.
    n_samples
        The number of trials (10000) or resamples (1000).
    n_ar_confidence
        With "ar": the number of resamples for a confidence interval (0 for 1000); -1 for none.
    n_jobs
        Has no effect: the engine needs a fraction of the time.

    Examples
    --------
    >>> from dragoman.compat.sacrebleu.metrics import BLEU
    >>> systems = [("Baseline: a", ["a b c d", "e f g h"]), ("b", ["a b c d", "e f g x"])]
    >>> signatures, scores = PairedTest(systems, {"BLEU": BLEU()}, [["a b c d", "e f g h"]], "bs", 100)()
    >>> [round(result.score, 1) for result in scores["BLEU"]]
    [100.0, 72.3]
    """

    _DEFAULT_SAMPLES = {"ar": 10000, "bs": 1000}

    def __init__(
        self,
        named_systems: Sequence[tuple[str, Sequence[str]]],
        metrics: Mapping[str, Metric[Any]],
        references: Optional[References],
        test_type: str = "ar",
        n_samples: int = 0,
        n_ar_confidence: int = -1,
        n_jobs: int = 1,
    ) -> None:
        assert test_type in self._DEFAULT_SAMPLES, f"Unknown test type {test_type!r}"
        self.test_type = test_type
        self.n_jobs = n_jobs
        self.references = references
        self.named_systems = named_systems
        self.n_systems = len(named_systems) - 1
        self.n_ar_confidence = n_ar_confidence if n_ar_confidence != 0 else self._DEFAULT_SAMPLES["bs"]
        self.n_samples = n_samples if n_samples > 0 else self._DEFAULT_SAMPLES[test_type]
        self._seed = seed_of_environment()
        self.metrics: dict[str, Metric[Any]] = {}
        self._statistics: dict[str, list[npt.NDArray[np.float64]]] = {}
        for metric in metrics.values():
            statistics = [metric._extract_corpus_statistics(texts, references) for _, texts in named_systems]
            name = metric._aggregate_and_compute(statistics[0]).name
            self.metrics[name] = metric
            self._statistics[name] = statistics

    def __call__(self) -> tuple[dict[str, Signature], dict[str, list[Any]]]:
        """Run the test.

        Returns
        -------
        tuple
            The signature of each metric, and a table: "System" has the names, and each metric one `Result` for each.
        """
        table: dict[str, list[Any]] = {"System": [name for name, _ in self.named_systems]}
        signatures = {}
        for name, metric in self.metrics.items():
            table[name] = self._results(metric, self._statistics[name])
            signatures[name] = self._signature(metric)
        return signatures, table

    def _signature(self, metric: Metric[Any]) -> Signature:
        signature = metric.get_signature()
        signature.update("seed", str(self._seed).lower())
        signature.update(self.test_type, self.n_samples)
        if self.n_ar_confidence > 0:
            signature.update("bs", self.n_ar_confidence)
        return signature

    def _results(self, metric: Metric[Any], statistics: list[npt.NDArray[np.float64]]) -> list[Result]:
        engine = metric._make()
        seed = drawn(self._seed)
        if len(statistics) == 1:
            return [self._only(engine, statistics[0], seed)]
        test = "bootstrap" if self.test_type == "bs" else "randomization"
        tested = engine.paired_test(statistics, max(metric.num_refs, 1), test, self.n_samples, seed)
        results = [Result(score, p_value, *(interval or (None, None))) for score, p_value, interval in tested]
        if self.test_type == "ar" and self.n_ar_confidence > 0:
            for i, (result, counted) in enumerate(zip(results, statistics)):
                result.mean, result.ci = self._interval(engine, counted, seed, is_baseline=i == 0)
        return results

    def _only(self, engine: _core.Metric, statistics: npt.NDArray[np.float64], seed: int) -> Result:
        """Return the result of a baseline without others."""
        result = Result(engine.value(np.ascontiguousarray(statistics.sum(axis=0))))
        samples = self.n_samples if self.test_type == "bs" else self.n_ar_confidence
        if samples > 0:
            result.mean, result.ci = estimate_ci(np.asarray(engine.bootstrap(statistics, 1, samples, seed)))
        return result

    def _interval(
        self, engine: _core.Metric, statistics: npt.NDArray[np.float64], seed: int, is_baseline: bool
    ) -> tuple[float, float]:
        """Return the confidence interval of approximate randomization.

        The draws of the other systems come from the generator that has already drawn their trials, as in sacreBLEU.
        """
        segments = len(statistics)
        generator = np.random.default_rng(seed)
        if not is_baseline:
            generator.integers(2, size=(self.n_samples, segments), dtype=bool)
        draws = generator.choice(segments, size=(self.n_ar_confidence, segments), replace=True)
        return estimate_ci([engine.value(statistics[each].sum(axis=0)) for each in draws])
