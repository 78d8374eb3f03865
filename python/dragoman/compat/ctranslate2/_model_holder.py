"""A loaded model, with the properties of a translator."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, List, Mapping, Optional, Union

import dragoman
from dragoman import _core

from . import _logging, _system
from ._conventions import Conventions
from ._streams import PathLike
from ._vocabulary_map import VocabularyMap, read_vocabulary_map


class Loaded:
    """A model with what calls need of it."""

    def __init__(self, path: Path, threads: int, device: str, compute: str) -> None:
        self.model = dragoman.Model(path, threads=threads, device=device, compute=compute)
        self.conventions = Conventions(self.model, path)
        self.vocabulary_map: VocabularyMap | None = read_vocabulary_map(path, self.conventions)
        self.client = _core.TokenClient(self.model._core)


class ModelHolder:
    """The part of a translator that loads and unloads the model, and counts the calls that use it."""

    def __init__(
        self,
        model_path: PathLike,
        device: str = "cpu",
        *,
        device_index: Union[int, List[int]] = 0,
        compute_type: Union[str, Mapping[str, str]] = "default",
        inter_threads: int = 1,
        intra_threads: int = 0,
        max_queued_batches: int = 0,
        flash_attention: bool = False,
        tensor_parallel: bool = False,
        files: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._device = _system.device_of(device, device_index)
        self._compute = _system.compute_of(compute_type, self._device)
        if tensor_parallel:
            raise NotImplementedError("tensor_parallel is not available in dragoman.compat: a model runs on one device")
        if inter_threads < 1 or intra_threads < 0:
            raise ValueError(f"inter_threads is {inter_threads} and intra_threads {intra_threads}; at least 1 and 0")
        self._inter_threads = inter_threads
        self._threads = inter_threads * intra_threads
        self._name = str(model_path)
        self._path = Path(model_path)
        self._lock = threading.RLock()
        self._open: list[Callable[[], bool]] = []
        self._line = 0
        self._seed: int | None = None
        if files is not None:
            self._path = self._write_files(files)
        self._loaded: Loaded | None = None
        self.load_model()

    def _write_files(self, files: Mapping[str, Any]) -> Path:
        """Write the files to a temporary folder, which exists as long as the translator."""
        self._folder = tempfile.TemporaryDirectory(prefix="dragoman-", ignore_cleanup_errors=True)
        for name, content in files.items():
            data = content.read() if hasattr(content, "read") else content
            if not isinstance(data, bytes):
                raise TypeError("File content must be a file-like or bytes object")
            if Path(name).name != name:
                raise ValueError(f"{name!r} is no name of a file in a model folder")
            Path(self._folder.name, name).write_bytes(data)
        return Path(self._folder.name)

    @property
    def device(self) -> str:
        """The device, "cpu" or "cuda"."""
        return self._device.split(":")[0]

    @property
    def device_index(self) -> list[int]:
        """The number of the device, as a list."""
        return [int(self._device.partition(":")[2] or 0)]

    @property
    def compute_type(self) -> str:
        """The number type of matrix products."""
        return self._compute_type

    @property
    def num_translators(self) -> int:
        """The parameter `inter_threads`."""
        return self._inter_threads

    @property
    def num_active_batches(self) -> int:
        """The number of calls with results that are not finished."""
        with self._lock:
            self._open = [is_open for is_open in self._open if is_open()]
            return len(self._open)

    @property
    def num_queued_batches(self) -> int:
        """The number of these calls beyond `num_translators`."""
        return max(self.num_active_batches - self._inter_threads, 0)

    @property
    def tensor_parallel(self) -> bool:
        """Whether several devices compute together: False."""
        return False

    @property
    def model_is_loaded(self) -> bool:
        """Whether the model is loaded."""
        return self._loaded is not None

    def load_model(self, keep_cache: bool = False) -> None:
        """Load the model again after `unload_model`."""
        with self._lock:
            if self._loaded is not None:
                return
            if not self._path.exists():
                raise RuntimeError(f"Unable to open file 'model.bin' in model '{self._name}'")
            loaded = Loaded(self._path, self._threads, self._device, self._compute)
            self._compute_type = _system.name_of_compute(loaded.model.compute)
            self._loaded = loaded
        _logging.info(f"Loaded model {self._name} on device {self._device} with compute type {self._compute_type}")

    def unload_model(self, to_cpu: bool = False) -> None:
        """Unload the model, unless calls are active. With `to_cpu`, a model on the CPU stays."""
        if to_cpu and self.device == "cpu":
            return
        with self._lock:
            if self.num_active_batches == 0:
                self._loaded = None

    def _ready(self) -> Loaded:
        loaded = self._loaded
        if loaded is None:
            raise RuntimeError("The model for this translator was unloaded")
        return loaded

    def _track(self, is_open: Callable[[], bool]) -> None:
        """Count a call as active while `is_open` returns True."""
        with self._lock:
            self._open = [*(each for each in self._open if each()), is_open]

    def _lines(self, count: int) -> tuple[int, int]:
        """Return the seed, and the number of sources that it was used for."""
        with self._lock:
            seed = _system.random_seed()
            if seed != self._seed:
                self._seed, self._line = seed, 0
            first, self._line = self._line, self._line + count
            return seed, first
