"""Pipelines, and functions of Python that take part in translation.

Each call of such a function takes the GIL, so it is slower than a plugin in C++. It gets many records, or all
hypotheses of a sentence, at a time.
"""

from __future__ import annotations

import inspect
import json
import os
from typing import Any, Callable, Mapping, NamedTuple, Sequence, TypeVar

from . import _core
from ._options import LogFunction, ProgressFunction, log_function, progress_function, to_plain
from ._tokenizer import PathLike

#: Changes records in place: dicts with `line`, `text` and `fields`. A key `error` marks a record as failed.
StageFunction = Callable[..., None]
#: Gets the source ids and the ids of each hypothesis so far. Returns, for each hypothesis, a dict from token ids to what
#: is added to their logits (-inf forbids a token), or None.
LogitsFunction = Callable[..., "Sequence[Mapping[int, float] | None] | None"]

_Stage = TypeVar("_Stage", bound=StageFunction)
_Logits = TypeVar("_Logits", bound=LogitsFunction)


#: A function, the names of its options, and its largest batch.
_Entry = tuple[Callable[..., Any], list[str], int]
#: What is registered under each name. Registering a function again, as a cell of a notebook does, replaces the entry.
_stages: dict[str, _Entry] = {}
_processors: dict[str, _Entry] = {}


def _registered(
    entries: dict[str, _Entry], name: str, register: Callable[[str, str, Callable[[], _Entry]], None], summary: str
) -> None:
    try:
        register(name, summary, lambda: entries[name])
    except BaseException:
        del entries[name]
        raise


def _require_name(name: object, decorator: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f'the decorator needs a name: @{decorator}("NAME")')


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
    give. Several threads may call it; their calls interleave as threads of Python do.

    Parameters
    ----------
    name
        The name of the stage in configurations. A second function of the same name replaces the first.
    batch_size
        The largest number of records of a call, up to 1024.

    Examples
    --------
    >>> @stage("shout")
    ... def shout(records, mark="!"):
    ...     for record in records:
    ...         record["text"] = record["text"].upper() + mark
    """

    _require_name(name, "stage")

    def register(function: _Stage) -> _Stage:
        known = name in _stages
        _stages[name] = (function, _options_of(function, 1), batch_size)
        if not known:
            _registered(_stages, name, _core.register_stage, _summary_of(function))
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

    _require_name(name, "logits_processor")

    def register(function: _Logits) -> _Logits:
        known = name in _processors
        _processors[name] = (function, _options_of(function, 2), 1)
        if not known:
            _registered(_processors, name, _core.register_logits_processor, _summary_of(function))
        return function

    return register


def load_plugin(file_or_name: PathLike) -> None:
    """Load a plugin: a shared library, or an installed one by its name.

    A plugin runs as part of this process: load only those that you trust.
    """
    _core.load_plugin(os.fspath(file_or_name))


class LineCounts(NamedTuple):
    """What a pipeline has processed."""

    lines: int
    failed: int


def run_pipeline(
    stages: Sequence[Mapping[str, Any]],
    *,
    threads: int = 0,
    fail_on_error: bool = False,
    progress: ProgressFunction | bool | None = None,
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
    configuration = json.dumps({"stages": [dict(each) for each in stages]}, default=to_plain)
    return LineCounts(
        *_core.run_pipeline(configuration, "pipeline", threads, fail_on_error, progress_function(progress), log_function(log))
    )


__all__ = ["LineCounts", "load_plugin", "logits_processor", "run_pipeline", "stage"]
