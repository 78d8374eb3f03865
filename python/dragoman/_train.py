"""Training, conversion and quantisation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping

from . import _core
from ._options import LogFunction, ProgressFunction, log_function, progress_function, to_json, to_plain
from ._tokenizer import PathLike


class TrainConfig:
    """A training configuration with the keys of `dragoman train`, which docs/guides/training.md explains.

    Parameters
    ----------
    config
        A YAML file, or the keys as a mapping.

    Examples
    --------
    >>> config = TrainConfig({"output": "run", "training": {"updates": 100}})
    >>> config["training.updates"] = 200
    >>> print(config.to_yaml())
    output: run
    training:
      updates: 200
    """

    __slots__ = ("_core", "__weakref__")

    def __init__(self, config: PathLike | Mapping[str, Any]) -> None:
        if isinstance(config, Mapping):
            self._core = _core.TrainConfig.parse(to_json(config) or "{}", "configuration")
        else:
            self._core = _core.TrainConfig.read(Path(config))

    @classmethod
    def parse(cls, yaml: str, name: str = "configuration") -> TrainConfig:
        """Parse YAML text. Messages call it `name`."""
        made = cls.__new__(cls)
        made._core = _core.TrainConfig.parse(yaml, name)
        return made

    def set(self, key: str, value: Any) -> TrainConfig:
        """Set one key, as in `set("training.updates", 200)`, and return the configuration."""
        self._core.set(key, json.dumps(value, default=to_plain))
        return self

    def __getitem__(self, key: str) -> Any:
        """Return the value of a key that is set; KeyError for others, which have their defaults."""
        found = json.loads(self._core.to_json())
        for name in key.split("."):
            if not isinstance(found, dict) or name not in found:
                raise KeyError(key)
            found = found[name]
        return found

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def to_yaml(self) -> str:
        """Return the configuration as YAML."""
        return self._core.to_yaml().rstrip("\n")

    def __repr__(self) -> str:
        return f"<dragoman.TrainConfig\n{self.to_yaml()}>"


#: Returns a number for (sources, hypotheses, references) of a validation.
MetricFunction = Callable[[list[str], list[str], list[str]], float]


@dataclass(frozen=True, slots=True)
class TrainResult:
    """The result of a training."""

    #: The model folder: the best model if there was a validation, otherwise the last one.
    model: Path
    updates: int
    epochs: int
    stopped_early: bool
    #: The metric that selects the best model.
    metric: str
    #: The best value of the metric; None without a validation.
    best: float | None


def train(
    config: TrainConfig | PathLike | Mapping[str, Any],
    *,
    resume: bool = False,
    metrics: Mapping[str, MetricFunction] | None = None,
    progress: ProgressFunction | bool | None = None,
    log: LogFunction | None = None,
) -> TrainResult:
    """Train a model in this process; the result has the bytes of `dragoman train`.

    Ctrl-C, or an exception of `progress` or `log`, ends training after the current update, with a checkpoint to resume
    from.

    Parameters
    ----------
    config
        The configuration, a YAML file, or a mapping.
    resume
        Whether to go on from the last checkpoint of the output folder.
    metrics
        Functions that score the translations of validations: from lists of sources, hypotheses and references to a
        number. The configuration uses them as `{"name": "mine", "function": NAME}` in `validation.metrics`.
    progress
        Receives each update with its figures (`loss`, `tokens/s`, `learning-rate`). True shows a bar.
    log
        Receives messages. By default they go to the logger "dragoman".
    """
    read = config if isinstance(config, TrainConfig) else TrainConfig(config)
    return TrainResult(*_core.train(read._core, resume, dict(metrics or {}), progress_function(progress), log_function(log)))


def convert(
    input: PathLike,
    output: PathLike,
    *,
    from_: str = "",
    to: str = "",
    log: LogFunction | None = None,
    **import_options: Any,
) -> None:
    """Convert a tokenizer file, import a model of another toolkit, or export a model, as `dragoman convert` does.

    Parameters
    ----------
    input, output
        Files or folders. The output appears when it is complete.
    from_
        The kind of the input, if its content does not tell.
    to
        The kind of the output: for a tokenizer "tokenizer-json", "sentencepiece" and so on (by default the name
        decides); for a model "ctranslate2", "marian-npz" or "huggingface" (by default a model folder).
    log
        Receives messages, such as what the output cannot express.
    **import_options
        Options of the importer of a model.
    """
    _core.convert(Path(input), Path(output), from_, to, to_json(import_options), log_function(log))


def quantize(model: PathLike, output: PathLike, *, type: str = "int8") -> None:
    """Write a model folder whose weights are rounded to "int8" or "bf16"."""
    _core.quantize(Path(model), Path(output), type)
