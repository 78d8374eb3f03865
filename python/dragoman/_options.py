"""Keywords that functions share, for type checkers.

`tests/python/test_options.py` compares them with the library's own tables.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
from typing import Any, Callable, Iterable, Mapping, Sequence

from typing_extensions import TypedDict

from . import _core
from .errors import InvalidArgumentError


class Progress(TypedDict):
    """A snapshot of a long operation."""

    stage: str
    done: int
    total: int
    unit: str
    figures: dict[str, float]


#: Receives snapshots of progress. It runs under the GIL, in any thread of the operation.
ProgressFunction = Callable[[Progress], None]
#: Receives ("info" or "warning", message).
LogFunction = Callable[[str, str], None]


class SearchOptions(TypedDict, total=False):
    """The options of a search; docs/guides/search.md explains each.

    An option that is not given takes its value from the translator, then from the model folder, then from the
    program's defaults.
    """

    decoder: str
    beam_size: int
    n_best: int
    length_penalty: str
    alpha: float
    coverage_penalty: float
    patience: float
    beam_groups: int
    diversity_strength: float
    minimum_length: int
    minimum_length_factor: float
    maximum_length: int
    maximum_length_factor: float
    maximum_length_offset: int
    repetition_penalty: float
    no_repeat_ngram: int
    suppress_tokens: Sequence[int] | Sequence[Sequence[int]]
    suppress_unknown: bool
    replace_unknown: bool
    alignment: bool
    prefix_role: str
    cut_at_maximum: bool
    end_tokens: Sequence[int]
    temperature: float
    top_k: int
    top_p: float
    seed: int
    mbr_candidates: str
    mbr_samples: int
    mbr_utility: str


class TranslateOptions(SearchOptions, total=False):
    """The options of one text, and those of the search.

    Attributes
    ----------
    source_language, target_language
        Language codes, for models of several languages.
    target_prefix
        Every translation begins with this text.
    constraints
        Every translation contains each of these texts as whole words. Beam search only.
    input_pieces, output_pieces
        Whether texts, or translations, are tokens separated by spaces.
    markup
        "html": the texts and their translations are fragments of HTML or XML. Otherwise "none".
    """

    source_language: str
    target_language: str
    target_prefix: str
    constraints: Sequence[str]
    input_pieces: bool
    output_pieces: bool
    markup: str


class LearnOptions(TypedDict, total=False):
    """The options that `learn_bpe` and `learn_unigram` share."""

    vocab_size: int
    character_coverage: float
    special_tokens: Sequence[str]
    user_symbols: Sequence[str]
    byte_fallback: bool
    max_piece_length: int
    split_digits: bool
    min_word_count: int
    invalid_utf8: str
    threads: int
    character_map: str
    dummy_prefix: bool
    remove_extra_spaces: bool
    escape_spaces: bool
    space_as_suffix: bool


class LearnBpeOptions(LearnOptions, total=False):
    """The options of `learn_bpe`; docs/guides/tokenizer.md explains them."""

    min_frequency: int
    normalization: str
    lowercase: bool
    split_case: bool
    split_punctuation: bool
    protect: Sequence[str]
    word_marks: bool
    spaces_apart: bool
    escape_marks: bool
    memory: int | str
    sentencepiece: bool
    written_as: str


class LearnUnigramOptions(LearnOptions, total=False):
    """The options of `learn_unigram`; docs/guides/tokenizer.md explains them."""

    seed_size: int
    shrinking_factor: float
    sub_iterations: int
    split_scripts: bool
    split_numbers: bool
    split_whitespace: bool
    whitespace_pieces: bool


def to_json(options: Mapping[str, Any]) -> str:
    """Return the options as the extension takes them; "" for none."""
    for name, value in options.items():
        if isinstance(value, float) and not math.isfinite(value):
            error = InvalidArgumentError(f"`{name}` is {value}; it must be a finite number")
            error.key = name
            raise error
    return json.dumps(options, default=to_plain) if options else ""


def to_plain(value: Any) -> Any:
    """Convert values of numpy, paths, and other sequences than lists, to what JSON has."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"an option cannot be a value of type {type(value).__name__}")


def several(values: Iterable[Any], name: str) -> list[Any]:
    """Return the values as a list; TypeError for one text, whose characters are hardly meant."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name} must be several values, such as a list; one {type(values).__name__} was given")
    return list(values)


def log_function(function: LogFunction | None) -> LogFunction:
    """Return the function, or one that passes messages to the logger "dragoman"."""
    return _log if function is None else function


def _log(level: str, message: str) -> None:
    logging.getLogger("dragoman").log(logging.WARNING if level == "warning" else logging.INFO, message)


class _Bar:
    """Shows progress with tqdm, or with lines on standard error where it is not installed."""

    def __init__(self) -> None:
        self.stage = ""
        self.bar: Any = None

    def __call__(self, now: Progress) -> None:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped]
        except ImportError:
            if now["done"] >= now["total"] > 0:
                print(f"{now['stage']}: {now['done']} {now['unit']}", file=sys.stderr)
            return
        if now["stage"] != self.stage:
            if self.bar is not None:
                self.bar.close()
            self.stage, self.bar = now["stage"], tqdm(desc=now["stage"], unit=" " + now["unit"])
        self.bar.total = now["total"] or None
        self.bar.n = now["done"]
        if now["figures"]:
            self.bar.set_postfix({name: f"{value:.4g}" for name, value in now["figures"].items()}, refresh=False)
        self.bar.refresh()
        if now["done"] >= now["total"] > 0:
            self.bar.close()
            self.stage = ""


def progress_function(function: ProgressFunction | bool | None) -> Callable[..., None] | None:
    """Return the function as the extension calls it."""
    if function is None or function is False:
        return None
    receive: ProgressFunction = _Bar() if function is True else function

    def call(stage: str, done: int, total: int, unit: str, figures: dict[str, float]) -> None:
        receive({"stage": stage, "done": done, "total": total, "unit": unit, "figures": figures})

    return call


def described_options(function: str) -> list[str]:
    """Return the lines of a docstring for the options in the library's table of a function."""
    lines = []
    for name, _, help_text, fallback, choices in _core.option_table(function):
        more = f" One of {', '.join(choices)}." if choices and not all(word in help_text for word in choices) else ""
        default = "" if fallback == "null" else f" Default: {fallback}."
        lines += [f"    {name}", f"        {help_text[:1].upper()}{help_text[1:]}.{more}{default}"]
    return lines


def _document(options: type, function: str) -> None:
    """Add the library's own help to the docstring."""
    lines = [options.__doc__ or "", "", "    Attributes", "    ----------", *described_options(function)]
    options.__doc__ = "\n".join(lines)


_document(SearchOptions, "search")
_document(LearnBpeOptions, "learn_bpe")
_document(LearnUnigramOptions, "learn_unigram")
