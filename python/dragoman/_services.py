"""Scores, embeddings and alignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable

import numpy as np
import numpy.typing as npt

from . import _core
from ._model import Model
from ._options import several
from ._tokenizer import PathLike


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """The probability of a translation under a model."""

    #: `log_probability` under the length penalty.
    score: float
    #: The sum of `token_scores`.
    log_probability: float
    #: The tokens of the target, without the end.
    tokens: list[str]
    #: The natural logarithm of the probability of each token, then of the end.
    token_scores: npt.NDArray[np.float64]


def _as_model(model: Model | PathLike) -> Model:
    return model if isinstance(model, Model) else Model(model)


class Scorer:
    """Computes the probability of given translations (forced decoding).

    Parameters
    ----------
    model
        The model, or its path.
    length_penalty, alpha
        The length penalty that turns the log probability into the score, and its strength.
    source_language, target_language
        Language codes, for models of several languages.

    Examples
    --------
    >>> scorer = Scorer("examples/multi30k/model")
    >>> good = scorer.score("Ein Hund läuft.", "A dog is running.")
    >>> bad = scorer.score("Ein Hund läuft.", "Two women sit.")
    >>> good.log_probability > bad.log_probability
    True
    """

    __slots__ = ("_core", "__weakref__")

    def __init__(
        self,
        model: Model | PathLike,
        *,
        length_penalty: str = "none",
        alpha: float | None = None,
        source_language: str = "",
        target_language: str = "",
    ) -> None:
        self._core = _core.Scorer(_as_model(model)._core, length_penalty, alpha, source_language, target_language)

    def score(self, source: str, target: str) -> Score:
        """Return the score of one pair."""
        return Score(*self._core.score_batch([source], [target])[0])

    def score_batch(self, sources: Iterable[str], targets: Iterable[str]) -> list[Score]:
        """Return one score for each pair, in order."""
        return [Score(*each) for each in self._core.score_batch(several(sources, "sources"), several(targets, "targets"))]


class Embedder:
    """Computes embeddings of text from the states of a model's encoder.

    Parameters
    ----------
    model
        The model, or its path.
    pooling
        "mean" over the tokens, "first" token, or "max" of each element.
    layer
        0 for token embeddings, i for the output of layer i; negative numbers count from the last layer. By default the
        output of the encoder.
    cut_long_texts
        Whether a text that is longer than the model supports is cut. Otherwise it is an error.

    Examples
    --------
    >>> embedder = Embedder("examples/multi30k/model")
    >>> embedder.embed_batch(["Ein Hund.", "Eine Katze."]).shape
    (2, 128)
    """

    __slots__ = ("_core", "__weakref__")

    def __init__(
        self,
        model: Model | PathLike,
        *,
        pooling: str = "mean",
        layer: int | None = None,
        cut_long_texts: bool = False,
    ) -> None:
        self._core = _core.Embedder(_as_model(model)._core, pooling, layer, cut_long_texts)

    def embed(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector of a text."""
        vector: npt.NDArray[np.float32] = self._core.embed_batch([text])[0]
        return vector

    def embed_batch(self, texts: Iterable[str]) -> npt.NDArray[np.float32]:
        """Return an array with one row for each text."""
        given = several(texts, "texts")
        # Without texts, any embedding has the width of the array.
        return self._core.embed_batch(given) if given else self._core.embed_batch([""])[:0]

    def embed_tokens(self, text: str) -> tuple[list[str], npt.NDArray[np.float32]]:
        """Return the tokens of a text with their end, and an array with one row for each."""
        return self._core.embed_tokens(text)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Links between the units (words or tokens) of two sentences."""

    #: Pairs of indices into `source` and `target`, sorted.
    links: list[tuple[int, int]]
    source: list[str]
    target: list[str]

    def __str__(self) -> str:
        """Return the links in Pharaoh's form, "0-0 1-2"."""
        return " ".join(f"{source}-{target}" for source, target in self.links)


class Aligner:
    """Aligns the words of sentence pairs by the cross-attention of a model.

    Parameters
    ----------
    model
        The model, or its path.
    reverse_model
        A model of the opposite direction; the alignments of both are combined.
    symmetrize
        How: "intersection", "union", "grow-diag", "grow-diag-final" or "grow-diag-final-and".
    tokens
        Whether tokens are aligned instead of words.
    layer
        The decoder layer whose attention is used; negative numbers count from the last. By default the model's choice.
    threshold
        Above 0: all links with at least this weight. Otherwise each target unit has its best link.

    Examples
    --------
    >>> aligner = Aligner("examples/multi30k/model")
    >>> str(aligner.align("Ein Hund läuft .", "A dog runs ."))
    '0-0 1-1 2-2 3-3'
    """

    __slots__ = ("_core", "__weakref__")

    def __init__(
        self,
        model: Model | PathLike,
        *,
        reverse_model: Model | PathLike | None = None,
        symmetrize: str = "grow-diag-final-and",
        tokens: bool = False,
        layer: int | None = None,
        threshold: float = 0,
    ) -> None:
        reverse = None if reverse_model is None else _as_model(reverse_model)._core
        self._core = _core.Aligner(_as_model(model)._core, reverse, symmetrize, tokens, layer, threshold)

    def align(self, source: str, target: str) -> Alignment:
        """Return the alignment of a pair."""
        return Alignment(*self._core.align_batch([source], [target])[0])

    def align_batch(self, sources: Iterable[str], targets: Iterable[str]) -> list[Alignment]:
        """Return one alignment for each pair, in order."""
        return [Alignment(*each) for each in self._core.align_batch(several(sources, "sources"), several(targets, "targets"))]
