"""The classes of CTranslate2 that Dragoman has no counterpart of, or another one."""

from __future__ import annotations

from typing import Any


def uncovered(name: str, remedy: str) -> type:
    """Return a class that cannot be instantiated; the error names what covers it."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"ctranslate2.{name} is not available in dragoman.compat: {remedy}")

    def refuse_attribute(cls: type, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise NotImplementedError(f"ctranslate2.{name}.{attribute} is not available in dragoman.compat: {remedy}")

    meta = type("Uncovered", (type,), {"__getattr__": refuse_attribute})
    made: type = meta(name.rsplit(".", 1)[-1], (), {"__init__": refuse, "__doc__": f"Not available: {remedy}."})
    return made


_ARRAYS = "results are lists of Python, which numpy.asarray() accepts"
_NO_GENERATOR = (
    "the model cannot be used as a sequence generator; Dragoman runs encoder-decoder models, with ctranslate2.Translator"
)

StorageView = uncovered("StorageView", _ARRAYS)
DataType = uncovered("DataType", _ARRAYS)
Device = uncovered("Device", 'devices are strings, such as "cpu" and "cuda"')
MpiInfo = uncovered("MpiInfo", "a model runs on one device")
Generator = uncovered("Generator", _NO_GENERATOR)
GenerationResult = uncovered("GenerationResult", _NO_GENERATOR)
AsyncGenerationResult = uncovered("AsyncGenerationResult", _NO_GENERATOR)
Encoder = uncovered("Encoder", "dragoman.Embedder computes the states of a translation model's encoder")
EncoderForwardOutput = uncovered("EncoderForwardOutput", "dragoman.Embedder returns arrays of numpy")
