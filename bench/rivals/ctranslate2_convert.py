"""Writes the weights of a Dragoman model folder as a CTranslate2 model; runs in the Python that has its wheel.

  ctranslate2_convert.py FOLDER OUTPUT [QUANTIZATION]

The tokens of the model's vocabularies are the numbers of ours ("384"), so any tokenizer serves. What CTranslate2 cannot compute, or what
this program does not know, is an error.
"""
import json
import pathlib
import struct
import sys

import numpy as np
from ctranslate2.specs import common_spec, transformer_spec

ACTIVATIONS = {
    "relu": (common_spec.Activation.RELU, False),
    "gelu": (common_spec.Activation.GELU, False),
    "swish": (common_spec.Activation.SWISH, False),
    "glu": (common_spec.Activation.Sigmoid, True),
    "reglu": (common_spec.Activation.RELU, True),
    "geglu": (common_spec.Activation.GELU, True),
    "swiglu": (common_spec.Activation.SWISH, True),
}
# Keys of a Transformer and their defaults, so that one that is new to this program is noticed. `query_scaling` says where a product is
# rounded, not what it is.
DEFAULTS = {
    "d_model": 512, "heads": 8, "feed_forward": 2048, "encoder_layers": 6, "decoder_layers": 6, "encoder_tied_layers": [],
    "decoder_tied_layers": [], "norm": "pre", "final_norm": None, "layer_norm_epsilon": 1e-5, "query_scaling": "late", "activation": "relu",
    "positions": "sinusoidal-interleaved", "position_offset": 0, "position_base": 10000.0, "embedding_scale": True, "embedding_norm": False,
    "tying": "all", "init": "default", "output_width": 0, "output_bias": False, "dropout": 0.1, "alignment_layer": -1, "alignment_heads": 1,
}


def fail(message):
    sys.exit(f"ctranslate2_convert: {message}")


def numbers(raw, dtype):
    if dtype == "BF16":
        return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
    kinds = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "I8": "i1"}
    if dtype not in kinds:
        fail(f"tensors of the type {dtype} are not read; write the model with f32 or f16 weights")
    return np.frombuffer(raw, kinds[dtype]).astype(np.float32)


def read_safetensors(path):
    """All tensors in fp32; int8 matrices times the scales of their rows."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = numbers(data[begin:end], entry["dtype"]).reshape(entry["shape"])
    for name in [name for name in tensors if name + "_scale" in tensors]:
        tensors[name] = tensors[name] * tensors.pop(name + "_scale")[:, None]
    return tensors


def read_settings(config, path):
    if config.get("model_type") != "transformer":
        fail(f"{path}: model_type is {config.get('model_type')!r}, and only transformer can be converted")
    unknown = sorted(set(config["model"]) - set(DEFAULTS))
    if unknown:
        fail(f"{path}: the converter does not know model.{', model.'.join(unknown)}; say in {__file__} what CTranslate2 makes of it")
    settings = DEFAULTS | config["model"]
    if settings["final_norm"] is None:
        settings["final_norm"] = settings["norm"] == "pre"
    if settings["activation"] not in ACTIVATIONS:
        fail(f"{path}: model.activation is {settings['activation']!r}, which CTranslate2 does not have")
    return settings


def sinusoids(settings, count):
    """Vaswani et al. 2017, 3.5; tensor2tensor's wave lengths end at the base itself."""
    kind, width, half = settings["positions"], settings["d_model"], settings["d_model"] // 2
    steps = np.arange(half) / max(1, half - 1) if kind == "sinusoidal-tensor2tensor" else 2 * np.arange(half) / width
    positions = settings["position_offset"] + np.arange(count)
    angles = positions[:, None] * np.power(float(settings["position_base"]), -steps)[None, :]
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    if kind == "sinusoidal-interleaved":
        table = table.reshape(count, 2, half).transpose(0, 2, 1).reshape(count, width)
    elif kind not in ("sinusoidal-concatenated", "sinusoidal-tensor2tensor"):
        fail(f"model.positions is {kind!r}, which the converter does not know")
    return table.astype(np.float32)


class Converter:
    def __init__(self, tensors, settings, sequences):
        self.tensors = tensors
        self.used = set()
        self.settings = settings
        self.sequences = sequences

    def tensor(self, name):
        if name not in self.tensors:
            fail(f"there is no tensor {name}, which the configuration asks for")
        self.used.add(name)
        return self.tensors[name]

    def norm(self, spec, name):
        spec.gamma, spec.beta = self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")

    def linear(self, spec, name):
        spec.weight, spec.bias = self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")

    def feed_forward(self, spec, scope):
        self.norm(spec.layer_norm, f"{scope}.feed_forward_norm")
        self.linear(spec.linear_0, f"{scope}.feed_forward.in")
        if ACTIVATIONS[self.settings["activation"]][1]:
            spec.linear_0.weight, spec.linear_0_noact.weight = np.split(spec.linear_0.weight, 2)
            spec.linear_0.bias, spec.linear_0_noact.bias = np.split(spec.linear_0.bias, 2)
        self.linear(spec.linear_1, f"{scope}.feed_forward.out")

    def self_attention(self, spec, scope):
        self.norm(spec.layer_norm, f"{scope}.self_attention_norm")
        self.linear(spec.linear[0], f"{scope}.self_attention.qkv")
        self.linear(spec.linear[1], f"{scope}.self_attention.out")

    def cross_attention(self, spec, scope):
        self.norm(spec.layer_norm, f"{scope}.cross_attention_norm")
        for linear, part in zip(spec.linear, ("q", "kv", "out")):
            self.linear(linear, f"{scope}.cross_attention.{part}")

    def stack(self, spec, side, embeddings, table, longest):
        """What encoder and decoder have in common; yields their layers with the scope of each."""
        settings = self.settings
        embeddings.weight = self.tensor(f"{table}.weight")
        spec.scale_embeddings = bool(settings["embedding_scale"])
        if settings["positions"] == "learned":
            spec.position_encodings.encodings = self.tensor(f"{side}.positions.weight")[settings["position_offset"]:]
        else:
            spec.position_encodings.encodings = sinusoids(settings, longest)
        if settings["embedding_norm"]:
            self.norm(spec.layernorm_embedding, f"{side}.norm")
        if settings["final_norm"]:
            self.norm(spec.layer_norm, f"{side}.final_norm")
        own = settings[f"{side}_tied_layers"] or range(len(spec.layer))
        for layer, number in zip(spec.layer, own):
            yield layer, f"{side}.layers.{number}"

    def encoder(self, spec, table):
        for layer, scope in self.stack(spec, "encoder", spec.embeddings[0], table, self.sequences["maximum_source_length"]):
            self.self_attention(layer.self_attention, scope)
            self.feed_forward(layer.ffn, scope)

    def decoder(self, spec, table):
        for layer, scope in self.stack(spec, "decoder", spec.embeddings, table, self.sequences["maximum_target_length"]):
            self.self_attention(layer.self_attention, scope)
            self.cross_attention(layer.attention, scope)
            self.feed_forward(layer.ffn, scope)
        tied = self.settings["tying"] in ("all", "target-output")
        spec.projection.weight = spec.embeddings.weight if tied else self.tensor("output.weight")
        if self.settings["output_bias"]:
            spec.projection.bias = self.tensor("output.bias")
        if self.settings["output_width"]:
            spec.project_out.weight = self.tensor("output_projection.weight")
            del spec.project_in

    def whole(self):
        settings = self.settings
        activation, gated = ACTIVATIONS[settings["activation"]]
        # What is asked for as pre-norm has a norm behind the stack; where the others stand is said afterwards.
        common = {"pre_norm": True, "no_final_norm": not settings["final_norm"], "activation": activation, "ffn_glu": gated,
                  "layernorm_embedding": settings["embedding_norm"]}
        encoder = transformer_spec.TransformerEncoderSpec(settings["encoder_layers"], settings["heads"], **common)
        decoder = transformer_spec.TransformerDecoderSpec(settings["decoder_layers"], settings["heads"], **common,
                                                          project_in_out=settings["output_width"] != 0)
        encoder.pre_norm = decoder.pre_norm = settings["norm"] == "pre"
        spec = transformer_spec.TransformerSpec(encoder, decoder)
        joint = settings["tying"] in ("all", "source-target")
        self.encoder(spec.encoder, "embedding" if joint else "source_embedding")
        self.decoder(spec.decoder, "embedding" if joint else "target_embedding")
        unused = sorted(set(self.tensors) - self.used)
        if unused:
            fail(f"tensors that would be left out: {', '.join(unused[:5])}{' ...' if len(unused) > 5 else ''}")
        self.vocabularies(spec)
        return spec

    def vocabularies(self, spec):
        sequences = self.sequences
        spec.register_source_vocabulary([str(number) for number in range(sequences["source_vocabulary"])])
        spec.register_target_vocabulary([str(number) for number in range(sequences["target_vocabulary"])])
        spec.config.unk_token = str(sequences["unknown"])
        spec.config.bos_token = str(sequences["begin"])
        spec.config.eos_token = str(sequences["end"])
        spec.config.decoder_start_token = str(sequences["decoder_start"])
        spec.config.add_source_eos = True
        spec.config.layer_norm_epsilon = self.settings["layer_norm_epsilon"]


def main():
    folder, output = map(pathlib.Path, sys.argv[1:3])
    config = json.loads((folder / "config.json").read_text())
    settings = read_settings(config, folder / "config.json")
    spec = Converter(read_safetensors(folder / "model.safetensors"), settings, config["sequences"]).whole()
    spec.validate()
    spec.optimize(quantization=sys.argv[3] if len(sys.argv) > 3 else None)  # among other things one copy of a matrix that is tied
    output.mkdir(parents=True, exist_ok=True)
    spec.save(str(output))


if __name__ == "__main__":
    main()
