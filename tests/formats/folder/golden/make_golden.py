"""Makes sample.safetensors with the reference implementation (safetensors 0.8.0, numpy 2):  python make_golden.py"""

from pathlib import Path

import numpy
from safetensors.numpy import save_file

half = numpy.array([0.1, -2.5, 65504.0], numpy.float16)
tensors = {
    "double": numpy.array([[0.1, -1.0], [1e300, 3.0]], numpy.float64),
    "encoder.weight": (numpy.arange(6, dtype=numpy.float32) / 7).reshape(2, 3),
    "half": half,
    "scalar": numpy.array(2.5, numpy.float32),
    "empty": numpy.zeros((0, 4), numpy.float32),
}
save_file(tensors, Path(__file__).with_name("sample.safetensors"), metadata={"format": "pt"})

others = {"bytes": numpy.array([0, 255], numpy.uint8), "flags": numpy.array([True, False]), "long": numpy.array([-1], numpy.int64)}
save_file(others, Path(__file__).with_name("other_types.safetensors"))
