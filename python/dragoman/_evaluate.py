"""Evaluation metrics, with sacreBLEU's values and signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Sequence, overload

import numpy as np
import numpy.typing as npt

from . import _core
from ._options import several


def _metric(name: str, options: dict[str, Any]) -> _core.Metric:
    """Return the metric of a name with sacreBLEU's defaults."""

    def take(**defaults: Any) -> list[Any]:
        unknown = options.keys() - defaults.keys()
        if unknown:
            raise TypeError(f"{name} has no option {sorted(unknown)[0]!r}; it has {', '.join(defaults)}")
        return [options.get(key, value) for key, value in defaults.items()]

    if name == "bleu":
        tokenize: str | tuple[str, Callable[[str], str]]
        tokenize, smooth, value, lowercase, effective, order = take(
            tokenize="13a", smooth="exp", smooth_value=None, lowercase=False, effective_order=False, max_order=4
        )
        label, function = (tokenize, None) if isinstance(tokenize, str) else tokenize
        return _core.bleu(label, function, smooth, value, lowercase, effective, order)
    if name in ("chrf", "chrf++"):
        words = 2 if name == "chrf++" else 0
        return _core.chrf(
            *take(char_order=6, word_order=words, beta=2, lowercase=False, whitespace=False, eps_smoothing=False)
        )
    if name == "ter":
        return _core.ter(*take(normalized=False, no_punct=False, asian_support=False, case_sensitive=False))
    raise ValueError(f"there is no metric {name!r}; there are bleu, chrf, chrf++ and ter")


@dataclass(frozen=True, slots=True)
class MetricScore:
    """The score of a text, with what is needed to reproduce it."""

    #: "BLEU", "chrF2", "chrF2++" or "TER".
    name: str
    #: 0 to 100; TER may exceed 100.
    value: float
    #: As sacreBLEU's.
    signature: str
    #: For BLEU: precisions, brevity penalty and lengths; otherwise empty.
    details: str = ""
    #: With `bootstrap`: the mean of the resamples, and half the width of the interval that holds 95 % of them.
    confidence: tuple[float, float] | None = None

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        number = f"{self.value:.1f}"
        if self.confidence is not None:
            number += f" (μ = {self.confidence[0]:.1f} ± {self.confidence[1]:.1f})"
        return f"{self.name}|{self.signature} = {number}" + (f" {self.details}" if self.details else "")


def _streams(references: Sequence[str] | Sequence[Sequence[str]]) -> list[list[str]]:
    """Return streams of references: one text for each hypothesis, or several such lists."""
    listed = several(references, "references")
    if all(isinstance(each, str) for each in listed):
        return [[str(each) for each in listed]]
    return [list(each) for each in listed]


def evaluate(
    hypotheses: Iterable[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    metric: str = "bleu",
    *,
    bootstrap: int = 0,
    seed: int = 12345,
    **options: Any,
) -> MetricScore:
    """Return the score of translations, with sacreBLEU's value and signature.

    Parameters
    ----------
    hypotheses
        The translations.
    references
        One reference for each, or several lists of references.
    metric
        "bleu", "chrf", "chrf++" or "ter".
    bootstrap, seed
        The number of resamples for a confidence interval, and their seed.
    **options
        The metric's own, with sacreBLEU's names: `tokenize`, `lowercase`, `smooth`, `word_order`, `normalized`, ...
        `tokenize` may also be a pair of a name and a function from a segment to tokens separated by spaces.

    Examples
    --------
    >>> score = evaluate(["The cat sat on the mat."], ["The cat sat on the mat."])
    >>> print(score)  # doctest: +ELLIPSIS
    BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:dragoman... = 100.0 100.0/100.0/100.0/100.0 ...
    """
    made = _metric(metric, options)
    streams = _streams(references)
    statistics = made.count_segments(several(hypotheses, "hypotheses"), streams)
    total = np.ascontiguousarray(statistics.sum(axis=0))
    confidence = None
    if bootstrap:
        values = made.bootstrap(statistics, len(streams), bootstrap, seed)
        confidence = _core.confidence_interval(values.tolist())
    signature = _signature(made, len(streams), bootstrap, seed)
    return MetricScore(made.name, made.value(total), signature, made.details(total), confidence)


def _signature(metric: _core.Metric, references: int, samples: int, seed: int) -> str:
    return metric.signature(references, "bootstrap" if samples else "", samples, seed)


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """One system in a comparison with a baseline."""

    score: float
    #: How probable a difference to the baseline of this size is by chance; None for the baseline.
    p_value: float | None
    #: From the bootstrap: mean and half the width of the interval that holds 95 % of the resamples.
    confidence: tuple[float, float] | None


@overload
def compare_systems(
    systems: Mapping[str, Iterable[str]],
    references: Sequence[str] | Sequence[Sequence[str]],
    metric: str = "bleu",
    *,
    test: str = "bootstrap",
    samples: int | None = None,
    seed: int = 12345,
    **options: Any,
) -> dict[str, SystemComparison]: ...
@overload
def compare_systems(
    systems: Iterable[Iterable[str]],
    references: Sequence[str] | Sequence[Sequence[str]],
    metric: str = "bleu",
    *,
    test: str = "bootstrap",
    samples: int | None = None,
    seed: int = 12345,
    **options: Any,
) -> list[SystemComparison]: ...
def compare_systems(
    systems: Mapping[str, Iterable[str]] | Iterable[Iterable[str]],
    references: Sequence[str] | Sequence[Sequence[str]],
    metric: str = "bleu",
    *,
    test: str = "bootstrap",
    samples: int | None = None,
    seed: int = 12345,
    **options: Any,
) -> dict[str, SystemComparison] | list[SystemComparison]:
    """Compare systems with the first one, the baseline, as sacreBLEU's --paired-bs and --paired-ar do.

    Parameters
    ----------
    systems
        The translations of each system: several lists, or a mapping from names to lists.
    references, metric, **options
        As for `evaluate`.
    test
        "bootstrap" or "randomization".
    samples, seed
        The number of resamples (1000) or trials (10000), and their seed.

    Returns
    -------
    dict or list
        One comparison for each system, in order: a dict with the same names if the systems have names.

    Examples
    --------
    >>> references = ["A dog runs.", "Two men are sitting.", "A woman is reading a book."]
    >>> systems = {"old": ["Dog runs.", "Two men sit.", "A woman reads."], "new": references}
    >>> found = compare_systems(systems, references, "chrf", samples=100)
    >>> found["new"].score > found["old"].score
    True
    """
    if isinstance(systems, Mapping):
        found = compare_systems(systems.values(), references, metric, test=test, samples=samples, seed=seed, **options)
        return dict(zip(systems, found))
    made = _metric(metric, options)
    streams = _streams(references)
    counted: list[npt.NDArray[np.float64]] = [made.count_segments(list(each), streams) for each in systems]
    wanted = samples if samples is not None else (1000 if test == "bootstrap" else 10000)
    return [SystemComparison(*each) for each in made.paired_test(counted, len(streams), test, wanted, seed)]
