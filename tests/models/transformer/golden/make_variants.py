#!/usr/bin/env python3
"""Writes variant_*.safetensors: parameters, logits, loss and gradients of variants of the Transformer on the batch of make_golden.py.

  python3 make_variants.py        (needs NumPy; made with 2.4.6)

The forward pass is that of make_inner_states.py. A gradient is the imaginary part of the loss where the parameter has an imaginary part h,
divided by h: exact to the last digits, and independent of any rule of differentiation. Loss and gradients computed so are compared with
PyTorch's first, for the two models of make_golden.py.
"""
import math

import numpy

from make_inner_states import Model, read, relu, write

SOURCES = [[5, 9, 4, 22, 2], [7, 2], [3, 3, 11, 2]]
TARGETS = [[6, 8, 2], [12, 13, 14, 15, 2], [20, 2]]
BEGIN, SMOOTHING = 1, 0.1
WIDTH, HEADS, LAYERS, INNER, LONGEST = 6, 3, 1, 10, 8

VARIANTS = {
    "untied": dict(source=23, target=29, tables=("source_embedding", "target_embedding", "output"), bias=True, learned=2),
    "target_output": dict(source=23, target=29, tables=("source_embedding", "target_embedding", "target_embedding"), bias=True),
    "source_target": dict(source=23, target=23, tables=("embedding", "embedding", "output")),
    "pre_without_final_norm": dict(source=23, target=23, final_norm=False, epsilon=0.01, embedding_norm=True),
    "post_with_final_norm": dict(source=23, target=23, pre=False, final_norm=True, epsilon=0.01, embedding_norm=True),
}


class Variant(Model):
    def __init__(self, parameters, source=0, target=0, tables=("embedding",) * 3, bias=False, learned=None, pre=True, final_norm=None,
                 epsilon=1e-5, embedding_norm=False, **shape):
        super().__init__(parameters, pre, **shape)
        self.tables, self.bias, self.learned, self.final_norm = tables, bias, learned, final_norm
        self.epsilon, self.embedding_norm = epsilon, embedding_norm
        self.activation = relu

    def embed(self, ids, side):
        table = self.p[self.tables[0 if side == "encoder" else 1] + ".weight"]
        if self.learned is None:
            rates = 10000.0 ** (-numpy.arange(0, self.width, 2) / self.width)
            angles = numpy.arange(len(ids))[:, None] * rates
            positions = numpy.stack([numpy.sin(angles), numpy.cos(angles)], 2).reshape(len(ids), self.width)
        else:
            positions = self.p[side + ".positions.weight"][self.learned : self.learned + len(ids)]
        x = table[ids] * math.sqrt(self.width) + positions
        return self.norm(x, side + ".norm") if self.embedding_norm else x

    def logits(self, source, target):
        states = self.decode([BEGIN] + target[:-1], self.encode(source))
        logits = states @ self.p[self.tables[2] + ".weight"].T
        return logits + self.p["output.bias"] if self.bias else logits


def loss_of(logits, targets):
    """Summed over tokens; (1 - smoothing) on the target and the rest on all classes alike, as PyTorch's label_smoothing."""
    shifted = logits - logits.real.max(1, keepdims=True)
    log_p = shifted - numpy.log(numpy.exp(shifted).sum(1, keepdims=True))
    return -((1 - SMOOTHING) * log_p[numpy.arange(len(targets)), targets] + SMOOTHING * log_p.mean(1)).sum()


def evaluate(model):
    logits = [model.logits(source, target) for source, target in zip(SOURCES, TARGETS)]
    return numpy.concatenate(logits), sum(loss_of(l, t) for l, t in zip(logits, TARGETS))


def gradients(make, parameters):
    h, result = 1e-30, {}
    for name, value in parameters.items():
        gradient = numpy.zeros(value.size)
        for i in range(value.size):
            moved = value.astype(complex)
            moved.flat[i] += 1j * h
            gradient[i] = evaluate(make(parameters | {name: moved}))[1].imag / h
        result[name] = gradient.reshape(value.shape)
    return result


def complex_gelu(x):
    erf = numpy.vectorize(math.erf)(x.real / math.sqrt(2)) + 1j * x.imag * math.sqrt(2 / math.pi) * numpy.exp(-(x.real**2) / 2)
    return x * 0.5 * (1 + erf)


def check_against_pytorch(kind):
    golden = read(f"transformer_{kind}.safetensors")
    parameters = {name: value for name, value in golden.items() if not name.startswith(("batch.", "gradient."))}

    def make(p):
        model = Variant(p, pre=kind == "pre")
        model.activation = relu if kind == "pre" else complex_gelu
        return model

    logits, loss = evaluate(make(parameters))
    assert numpy.allclose(logits, golden["batch.logits"], atol=1e-12) and numpy.allclose(loss, golden["batch.loss"], rtol=1e-13)
    for name, gradient in gradients(make, parameters).items():
        assert numpy.allclose(gradient, golden["gradient." + name], rtol=1e-10, atol=1e-12), name


def shapes_of(source, target, tables=("embedding",) * 3, bias=False, learned=None, pre=True, final_norm=None, embedding_norm=False, **_):
    yield from {table + ".weight": (rows, WIDTH) for table, rows in zip(tables, (source, target, target))}.items()
    if bias:
        yield "output.bias", (target,)

    def linear(name, outputs, inputs):
        return [(name + ".weight", (outputs, inputs)), (name + ".bias", (outputs,))]

    for side in ("encoder", "decoder"):
        norms = ["norm"] if embedding_norm else []
        if learned is not None:
            yield side + ".positions.weight", (learned + LONGEST, WIDTH)
        for i in range(LAYERS):
            at = f"layers.{i}."
            norms += [at + "self_attention_norm", at + "feed_forward_norm"] + [at + "cross_attention_norm"] * (side == "decoder")
            yield from linear(f"{side}.{at}self_attention.qkv", 3 * WIDTH, WIDTH)
            yield from linear(f"{side}.{at}self_attention.out", WIDTH, WIDTH)
            yield from linear(f"{side}.{at}feed_forward.in", INNER, WIDTH)
            yield from linear(f"{side}.{at}feed_forward.out", WIDTH, INNER)
            if side == "decoder":
                yield from linear(f"{side}.{at}cross_attention.q", WIDTH, WIDTH)
                yield from linear(f"{side}.{at}cross_attention.kv", 2 * WIDTH, WIDTH)
                yield from linear(f"{side}.{at}cross_attention.out", WIDTH, WIDTH)
        if pre if final_norm is None else final_norm:
            norms.append("final_norm")
        for norm in norms:
            yield f"{side}.{norm}.weight", (WIDTH,)
            yield f"{side}.{norm}.bias", (WIDTH,)


def draw(options, seed):
    random = numpy.random.default_rng(seed)
    spread = {1: 0.2, 2: 0.5}
    return {name: spread[len(shape)] * random.standard_normal(shape) + ("norm.weight" in name) for name, shape in shapes_of(**options)}


def main():
    for kind in ("pre", "post"):
        check_against_pytorch(kind)
    for seed, (name, options) in enumerate(VARIANTS.items()):
        parameters = draw(options, seed)
        make = lambda p: Variant(p, **options, width=WIDTH, heads=HEADS, layers=LAYERS)
        logits, loss = evaluate(make(parameters))
        arrays = parameters | {"batch.logits": logits, "batch.loss": numpy.array([loss])}
        arrays |= {"gradient." + key: value for key, value in gradients(make, parameters).items()}
        write(f"variant_{name}.safetensors", arrays)
        print(name, "loss", loss, "parameters", sum(value.size for value in parameters.values()))


if __name__ == "__main__":
    main()
