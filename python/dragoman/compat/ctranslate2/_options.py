"""The options of a translation, as CTranslate2 names and checks them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Callable, List, Optional, Sequence, Union

from ._conventions import Vocabulary
from ._results import GenerationStepResult

EndToken = Union[str, List[str], List[int]]
Callback = Callable[[GenerationStepResult], Optional[bool]]


@dataclass
class Options:
    """The keywords of `Translator.translate_batch` that concern the search and its results."""

    beam_size: int = 2
    patience: float = 1
    num_hypotheses: int = 1
    length_penalty: float = 1
    coverage_penalty: float = 0
    repetition_penalty: float = 1
    no_repeat_ngram_size: int = 0
    disable_unk: bool = False
    suppress_sequences: Sequence[Sequence[str]] | None = None
    end_token: EndToken | None = None
    return_end_token: bool = False
    prefix_bias_beta: float = 0
    max_input_length: int = 1024
    max_decoding_length: int = 256
    min_decoding_length: int = 1
    use_vmap: bool = False
    return_scores: bool = False
    return_logits_vocab: bool = False
    return_attention: bool = False
    return_alternatives: bool = False
    min_alternative_expansion_prob: float = 0
    sampling_topk: int = 1
    sampling_topp: float = 1
    sampling_temperature: float = 1
    replace_unknowns: bool = False
    callback: Callback | None = None

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn."""
        return self.sampling_topk != 1 and self.sampling_temperature != 0

    @property
    def needs_attention(self) -> bool:
        """Whether the search has to return attention."""
        return self.return_attention or self.replace_unknowns

    @property
    def is_beam(self) -> bool:
        """Whether the search is a beam search."""
        return self.beam_size > 1 or self.prefix_bias_beta > 0

    def check(self) -> None:
        """Raise ValueError for values that CTranslate2 refuses, NotImplementedError for what is not available."""
        demands = (
            (self.beam_size > 0, "The beam size must be > 0"),
            (self.patience > 0, "The patience factor must be > 0"),
            (self.num_hypotheses > 0, "The number of hypotheses must be > 0"),
            (
                self.num_hypotheses <= round(self.beam_size * self.patience)
                or self.return_alternatives
                or (self.beam_size == 1 and self.sampling_topk != 1),
                "The number of hypotheses cannot be greater than beam_size * patience",
            ),
            (
                self.min_decoding_length <= self.max_decoding_length,
                "The minimum decoding length is greater than the maximum decoding length",
            ),
            (self.max_decoding_length > 0, "The maximum decoding length must be > 0"),
            (self.repetition_penalty > 0, "The repetition penalty must be > 0"),
            (self.prefix_bias_beta < 1, "The beta value in biased decoding must be < 1"),
            (
                not (self.prefix_bias_beta > 0 and self.return_alternatives),
                "Biased decoding is not compatible with the return_alternatives mode",
            ),
            (
                not self.return_alternatives or 0 <= self.min_alternative_expansion_prob <= 1,
                "The minimum alternative expansion probability must be between 0 and 1",
            ),
            (
                self.callback is None or not self.is_beam,
                "The callback function is not compatible with beam_size > 1 or prefix_bias_beta > 0",
            ),
            (
                0 <= self.sampling_temperature < math.inf,
                "The sampling temperature must be a finite number and not negative",
            ),
            (0 < self.sampling_topp <= 1, "The sampling_topp parameter must be between 0 and 1"),
        )
        for holds, message in demands:
            if not holds:
                raise ValueError(message)
        if self.return_logits_vocab:
            raise NotImplementedError(
                "return_logits_vocab is not available in dragoman.compat: return_scores and score_batch return the "
                "log probabilities of the tokens"
            )
        if self.is_beam and self.samples:
            raise NotImplementedError(
                "random sampling in a beam search is not available in dragoman.compat: set beam_size=1 and "
                "num_hypotheses for several samples"
            )

    def search(self, target: Vocabulary) -> dict[str, Any]:
        """Return the options of Dragoman's search."""
        search: dict[str, Any] = {
            "decoder": "beam" if self.is_beam else "sampling" if self.samples else "greedy",
            "n_best": self.num_hypotheses,
            "length_penalty": "ct2",
            "alpha": self.length_penalty,
            "coverage_penalty": self.coverage_penalty,
            "repetition_penalty": self.repetition_penalty,
            "no_repeat_ngram": self.no_repeat_ngram_size,
            "suppress_unknown": self.disable_unk,
            "minimum_length": self.min_decoding_length,
            "maximum_length": self.max_decoding_length,
            "alignment": self.needs_attention,
            "prefix_role": "given",
            "cut_at_maximum": True,
            "end_tokens": self._ends(target),
        }
        if self.is_beam:
            search["beam_size"] = self.beam_size
            search["patience"] = self.patience
        sequences = [target.known_ids(sequence) for sequence in self.suppress_sequences or () if sequence]
        if sequences:
            search["suppress_tokens"] = sequences
        return search

    def sampling(self, target: Vocabulary) -> list[float] | None:
        """Return top-k, top-p and temperature of a sampling, or None."""
        if not self.samples:
            return None
        if self.sampling_topk > len(target.tokens):
            raise ValueError(
                f"sampling_topk option ({self.sampling_topk}) is greater than the vocabulary size "
                f"({len(target.tokens)})"
            )
        return [self.sampling_topk, self.sampling_topp, self.sampling_temperature]

    def _ends(self, target: Vocabulary) -> list[int]:
        """Return the ids that end a translation; empty for the model's end."""
        if self.end_token is None:
            return []
        tokens = [self.end_token] if isinstance(self.end_token, str) else self.end_token
        ids: list[int] = []
        for token in tokens:
            ids += [token] if isinstance(token, int) else target.known_ids([token])
        return ids


#: The names of the options, which methods pass on.
OPTION_NAMES = frozenset(field.name for field in fields(Options))
