"""Models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Sequence

from . import _core
from ._options import several
from ._tokenizer import PathLike, Tokenizer


class Model:
    """A model that is ready for use: loaded, with its tokenizers and its worker threads.

    Translators, scorers, embedders and aligners share it, so nothing is loaded twice. Threads may share it. A process
    that was forked cannot use the model of its parent: open it after the fork.

    Parameters
    ----------
    path
        A model folder, or a model of another toolkit (Hugging Face, Marian, CTranslate2, fairseq).
    threads
        The number of worker threads; 0 for the number of cores. Results do not depend on it.
    device
        "cpu", "cuda", "cuda:1" or "auto".
    compute
        The number type of matrix products: "fp32", "bf16", "fp16" or "int8"; "stored" for the model's own, or fp32;
        "auto" for the model's own, or the fastest of the device.
    allow_non_finite
        Whether weights may be NaN or infinite. For research.
    latency
        Whether idle workers share the steps of busy ones. Results do not depend on it.
    ensemble
        Further models that translate together with this one.

    Examples
    --------
    >>> model = Model("examples/multi30k/model", threads=1)
    >>> model.device
    'cpu'
    >>> len(model.source_tokenizer)
    4000
    """

    __slots__ = ("_core", "_arguments", "_device", "_tokenizers", "__weakref__")

    def __init__(
        self,
        path: PathLike,
        *,
        threads: int = 0,
        device: str = "cpu",
        compute: str = "stored",
        allow_non_finite: bool = False,
        latency: bool = True,
        ensemble: Sequence[PathLike] = (),
    ) -> None:
        others = [Path(each) for each in several(ensemble, "ensemble")]
        self._arguments = (Path(path), threads, device, compute, allow_non_finite, latency, others)
        self._core = _core.Model(*self._arguments)
        # These are of use in a forked child, too.
        self._device = self._core.device
        self._tokenizers = (
            Tokenizer._wrap(self._core.source_tokenizer()),
            Tokenizer._wrap(self._core.target_tokenizer()),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies go to other processes as the path, which they open."""
        return _reopen, self._arguments

    @property
    def path(self) -> Path:
        """The path that was opened."""
        return self._arguments[0]

    @property
    def device(self) -> str:
        """The device, as "cpu" or "cuda:0"."""
        return self._device

    @property
    def compute(self) -> str:
        """The number type of matrix products on this machine."""
        return self._core.compute

    @property
    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        config: dict[str, Any] = json.loads(self._core.config())
        return config

    @property
    def source_tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts that are translated."""
        return self._tokenizers[0]

    @property
    def target_tokenizer(self) -> Tokenizer:
        """The tokenizer of translations."""
        return self._tokenizers[1]

    def __repr__(self) -> str:
        return f"<dragoman.Model {str(self.path)!r} on {self.device}>"


def _reopen(
    path: Path, threads: int, device: str, compute: str, allow_non_finite: bool, latency: bool, ensemble: list[Path]
) -> Model:
    return Model(
        path,
        threads=threads,
        device=device,
        compute=compute,
        allow_non_finite=allow_non_finite,
        latency=latency,
        ensemble=ensemble,
    )
