"""Pipelines, and functions of Python that take part in translation.

Each call of such a function takes the GIL, so it is slower than a plugin in C++. It gets many records, or all
hypotheses of a sentence, at a time.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Sequence, TypeVar

from . import _core
from ._options import LogFunction, ProgressFunction, progress_function
from ._tokenizer import PathLike

#: Changes records in place: dicts with `line`, `text` and `fields`. A key `error` marks a record as failed.
StageFunction = Callable[..., None]
#: Gets the source ids and the ids of each hypothesis so far. Returns, for each hypothesis, a dict from token ids to what
#: is added to their logits (-inf forbids a token), or None.
LogitsFunction = Callable[..., "Sequence[Mapping[int, float] | None] | None"]

_Stage = TypeVar("_Stage", bound=StageFunction)
_Logits = TypeVar("_Logits", bound=LogitsFunction)


def _options_of(function: Callable[..., Any], positional: int) -> list[str]:
    """Return the names of the keywords of a function, which are the options that a configuration may give."""
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(inspect.signature(function).parameters.values())
    return [each.name for each in parameters[positional:] if each.kind in named]


def _summary_of(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "a function of Python").splitlines()[0]


def stage(name: str, *, batch_size: int = 64) -> Callable[[_Stage], _Stage]:
    """Register a function as a stage of pipelines; a decorator.

    The function gets a list of records and changes them in place. Its keywords are the options that a configuration may
    give. Several threads may call it, one at a time.

    Parameters
    ----------
    name
        The name of the stage in configurations.
    batch_size
        The largest number of records of a call.

    Examples
    --------
    >>> @stage("shout")
    ... def shout(records, mark="!"):
    ...     for record in records:
    ...         record["text"] = record["text"].upper() + mark
    """

    def register(function: _Stage) -> _Stage:
        _core.register_stage(name, _summary_of(function), function, _options_of(function, 1), batch_size)
        return function

    return register


def logits_processor(name: str) -> Callable[[_Logits], _Logits]:
    """Register a function that edits logits; a decorator.

    `Translator(model, logits_processors={name: options})` uses it, as does the stage `translate` of pipelines. The
    function is called once for all hypotheses of a sentence, at each step.

    Parameters
    ----------
    name
        The name of the processor.

    Examples
    --------
    >>> @logits_processor("no-token")
    ... def no_token(source, hypotheses, token):
    ...     return [{token: -float("inf")} for _ in hypotheses]
    """

    def register(function: _Logits) -> _Logits:
        _core.register_logits_processor(name, _summary_of(function), function, _options_of(function, 2))
        return function

    return register


class LineCounts(NamedTuple):
    """What a pipeline has processed."""

    lines: int
    failed: int


def run_pipeline(
    stages: Sequence[Mapping[str, Any]],
    *,
    threads: int = 0,
    fail_on_error: bool = False,
    progress: ProgressFunction | None = None,
    log: LogFunction | None = None,
) -> LineCounts:
    """Run a pipeline from a file to a file, in order and in bounded memory.

    Parameters
    ----------
    stages
        The stages in order, each a mapping from its name to its options, as under `stages:` of `dragoman run`;
        docs/guides/pipelines.md explains them. Stages of `stage()` have their place among them.
    threads
        0: as many as the process may use.
    fail_on_error
        Whether a failed record ends the run. Otherwise it becomes an empty line, which is counted.
    progress, log
        Functions that receive progress and messages.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "in").write_text("Eine Frau spielt Gitarre.\\n")
    >>> run_pipeline(
    ...     [
    ...         {"read": {"path": folder / "in"}},
    ...         {"translate": {"model": "examples/multi30k/model"}},
    ...         {"write": {"path": folder / "out"}},
    ...     ]
    ... )
    LineCounts(lines=1, failed=0)
    >>> (folder / "out").read_text()
    'A woman is playing a guitar.\\n'
    """
    configuration = json.dumps({"stages": [dict(each) for each in stages]}, default=_path)
    return LineCounts(
        *_core.run_pipeline(configuration, "pipeline", threads, fail_on_error, progress_function(progress), log)
    )


def _path(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a stage's option cannot be a value of type {type(value).__name__}")


__all__ = ["LineCounts", "PathLike", "logits_processor", "run_pipeline", "stage"]
