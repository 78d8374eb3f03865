#!/usr/bin/env python3
"""Writes inner_states_pre.safetensors and inner_states_post.safetensors: attention and hidden states of one sentence pair.

  python3 make_inner_states.py        (needs NumPy; made with 2.4.6)

The Transformer of Vaswani et al. 2017 in NumPy, double precision, sentence by sentence and head by head, with the parameters that make_golden.py
drew. That this is the same model is checked first: its logits are PyTorch's. The pair is SOURCE, INPUTS.
"""
import json
import math
import struct

import numpy

WIDTH, HEADS, LAYERS = 8, 2, 2
SOURCE = [5, 9, 4, 22, 2]
INPUTS = [1, 6, 8]


def read(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    return {name: numpy.frombuffer(data[slice(*entry["data_offsets"])], "<f8").reshape(entry["shape"]) for name, entry in header.items()}


def write(path, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        raw = numpy.ascontiguousarray(array, "<f8").tobytes()
        header[name] = {"dtype": "F64", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def relu(x):
    return numpy.where(x.real > 0, x, 0)


def gelu(x):
    return x * 0.5 * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))


class Model:
    final_norm, epsilon = None, 1e-5  # None: with pre

    def __init__(self, parameters, pre, full_context=False, width=WIDTH, heads=HEADS, layers=LAYERS):
        self.p, self.pre, self.full_context = parameters, pre, full_context
        self.width, self.heads, self.layers = width, heads, layers
        self.activation = relu if pre else gelu
        self.seen = {}

    def linear(self, x, name, rows=slice(None)):
        return x @ self.p[name + ".weight"][rows].T + self.p[name + ".bias"][rows]

    def norm(self, x, name):
        centred = x - x.mean(1, keepdims=True)
        return centred / numpy.sqrt((centred**2).mean(1, keepdims=True) + self.epsilon) * self.p[name + ".weight"] + self.p[name + ".bias"]

    def keep(self, name, value):
        self.seen.setdefault(name, []).append(value)

    def attend(self, q, k, v, causal, kind):
        heads, scores, weights = [], [], []
        d = self.width // self.heads
        for h in range(self.heads):
            columns = slice(h * d, (h + 1) * d)
            s = q[:, columns] @ k[:, columns].T / math.sqrt(d)
            if causal:
                s = numpy.where(numpy.tri(len(q), len(k), dtype=bool), s, -numpy.inf)
            w = numpy.exp(s - s.max(1, keepdims=True))
            w /= w.sum(1, keepdims=True)
            heads.append(w @ v[:, columns])
            scores.append(s)
            weights.append(w)
        self.keep(kind + ".scores", numpy.array(scores))
        self.keep(kind + ".weights", numpy.array(weights))
        return numpy.concatenate(heads, 1)

    def self_attention(self, x, name, causal, kind):
        q, k, v = (self.linear(x, name + ".qkv", slice(i * self.width, (i + 1) * self.width)) for i in range(3))
        return self.linear(self.attend(q, k, v, causal, kind), name + ".out")

    def cross_attention(self, x, memory, name):
        k, v = (self.linear(memory, name + ".kv", slice(i * self.width, (i + 1) * self.width)) for i in range(2))
        return self.linear(self.attend(self.linear(x, name + ".q"), k, v, False, "cross"), name + ".out")

    def feed_forward(self, x, name):
        return self.linear(self.activation(self.linear(x, name + ".in")), name + ".out")

    def residual(self, x, norm, sub_layer):
        return x + sub_layer(self.norm(x, norm)) if self.pre else self.norm(x + sub_layer(x), norm)

    def embed(self, ids, side):
        rates = 10000.0 ** (-numpy.arange(0, self.width, 2) / self.width)
        angles = numpy.arange(len(ids))[:, None] * rates
        positions = numpy.stack([numpy.sin(angles), numpy.cos(angles)], 2).reshape(len(ids), self.width)
        return self.p["embedding.weight"][ids] * math.sqrt(self.width) + positions

    def stack(self, name, x, layer):
        self.keep(name + ".layers", x)
        for i in range(self.layers):
            x = layer(x, f"{name}.layers.{i}.")
            self.keep(name + ".layers", x)
        final_norm = self.pre if self.final_norm is None else self.final_norm
        return self.norm(x, name + ".final_norm") if final_norm else x

    def encode(self, ids):
        def layer(x, at):
            x = self.residual(x, at + "self_attention_norm", lambda y: self.self_attention(y, at + "self_attention", False, "encoder"))
            return self.residual(x, at + "feed_forward_norm", lambda y: self.feed_forward(y, at + "feed_forward"))

        return self.stack("encoder", self.embed(ids, "encoder"), layer)

    def decode(self, ids, memory):
        def layer(x, at):
            causal = not self.full_context
            x = self.residual(x, at + "self_attention_norm", lambda y: self.self_attention(y, at + "self_attention", causal, "decoder"))
            x = self.residual(x, at + "cross_attention_norm", lambda y: self.cross_attention(y, memory, at + "cross_attention"))
            return self.residual(x, at + "feed_forward_norm", lambda y: self.feed_forward(y, at + "feed_forward"))

        return self.stack("decoder", self.embed(ids, "decoder"), layer)

    def run(self):
        self.encoder_states = self.encode(SOURCE)
        self.decoder_states = self.decode(INPUTS, self.encoder_states)
        return self


def main():
    for kind in ("pre", "post"):
        parameters = read(f"transformer_{kind}.safetensors")
        model = Model(parameters, kind == "pre").run()
        logits = model.decoder_states @ parameters["embedding.weight"].T
        assert numpy.allclose(logits, parameters["batch.logits"][: len(INPUTS)], atol=1e-12), "not PyTorch's model"
        full = Model(parameters, kind == "pre", full_context=True).run()
        arrays = {name: numpy.array(values) for name, values in model.seen.items()}
        arrays |= {"full_context." + name: numpy.array(full.seen[name]) for name in ("decoder.weights", "cross.weights")}
        arrays |= {"encoder.states": model.encoder_states, "decoder.states": model.decoder_states}
        write(f"inner_states_{kind}.safetensors", arrays)
        print(kind, {name: array.shape for name, array in arrays.items()})


if __name__ == "__main__":
    main()
