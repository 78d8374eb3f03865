"""Functions about models, devices and random numbers."""

from __future__ import annotations

import ctypes
import secrets
from pathlib import Path
from typing import Union

import dragoman

_seed: int | None = None


def set_random_seed(seed: int) -> None:
    """Set the seed of samples. The samples of a translator begin anew with the next call."""
    global _seed
    _seed = seed & 0xFFFFFFFF


def random_seed() -> int:
    """Return the seed; a random one if none was set."""
    if _seed is None:
        set_random_seed(secrets.randbits(32))
    assert _seed is not None
    return _seed


def contains_model(path: Union[str, Path]) -> bool:
    """Return whether a folder seems to contain a model of CTranslate2 or of Dragoman."""
    return any(Path(path, name).is_file() for name in ("model.bin", "model.safetensors"))


def get_cuda_device_count() -> int:
    """Return the number of GPUs that this installation can use."""
    plugins = Path(dragoman.__file__).parent / "_native" / "lib" / "dragoman" / "plugins"
    if not any(plugins.glob("*cuda*")):
        return 0
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def get_supported_compute_types(device: str, device_index: int = 0) -> set[str]:
    """Return the compute types that `Translator` takes on a device."""
    if device == "auto":
        device = "cuda" if get_cuda_device_count() else "cpu"
    if device == "cpu":
        return {"float32", "bfloat16", "int8", "int8_float32"}
    if device != "cuda":
        raise ValueError(f"unsupported device {device}")
    if device_index >= get_cuda_device_count():
        raise ValueError(f"Invalid CUDA device index {device_index}; there are {get_cuda_device_count()} devices")
    return {"float32", "float16", "bfloat16", "int8", "int8_float32"}


#: CTranslate2's names and Dragoman's.
_COMPUTE = {
    "default": "stored",
    "auto": "auto",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int8": "int8",
    "int8_float32": "int8",
}
_UNAVAILABLE = ("int16", "int8_float16", "int8_bfloat16")


def compute_of(compute_type: object, device: str) -> str:
    """Return Dragoman's name of a compute type."""
    if isinstance(compute_type, dict):
        compute_type = compute_type.get(device.split(":")[0], "default")
    if not isinstance(compute_type, str):
        raise TypeError(
            "__init__(): incompatible constructor arguments: compute_type must be a str, or a dict that maps devices "
            f"to str, not {type(compute_type).__name__}"
        )
    if compute_type in _UNAVAILABLE:
        raise ValueError(
            f"Requested {compute_type} compute type, but the target device or backend do not support efficient "
            f"{compute_type} computation."
        )
    if compute_type not in _COMPUTE:
        raise ValueError(f"Invalid compute type: {compute_type}; it must be one of {', '.join(_COMPUTE)}")
    return _COMPUTE[compute_type]


def name_of_compute(compute: str) -> str:
    """Return CTranslate2's name of a compute type."""
    # With AVX2 alone it is "int8 (7-bit activations)".
    return {"int8": "int8_float32", "fp16": "float16", "bf16": "bfloat16"}.get(compute.split()[0], "float32")


def device_of(device: str, device_index: object) -> str:
    """Return Dragoman's name of a device."""
    if device not in ("cpu", "cuda", "auto"):
        raise ValueError(f"unsupported device {device}")
    indices = [device_index] if isinstance(device_index, int) else list(device_index)  # type: ignore[call-overload]
    if not indices:
        raise ValueError("At least one device index should be set: the device index is an empty list")
    if device == "auto":
        device = "cuda" if get_cuda_device_count() else "cpu"
    if device == "cpu":
        if indices != [0]:
            raise ValueError(f"Invalid device index {indices}; the device index of the CPU is 0")
        return "cpu"
    if len(indices) > 1:
        raise NotImplementedError(
            f"device index {indices}: a translator runs on one device; create one for each device index"
        )
    return f"cuda:{indices[0]}"
