#!/usr/bin/env python3
"""Writes transformer_pre.safetensors and transformer_post.safetensors: parameters, a batch, and PyTorch's logits, loss and gradients.

  python3 make_golden.py        (needs PyTorch; made with 1.13.1)

The model is torch.nn.Transformer with the embedding, position and output layers of Vaswani et al. 2017 around it; the batch is padded and
masked, as PyTorch wants it, and only the values at real positions are written. Parameters get Dragoman's names. Everything is
computed in double precision, so that the file can be compared with both backends, and stored as F64.
"""
import json
import math
import struct

import torch

D, HEADS, INNER, LAYERS, VOCABULARY = 8, 2, 16, 2, 23
SMOOTHING = 0.1
SOURCES = [[5, 9, 4, 22, 2], [7, 2], [3, 3, 11, 2]]
TARGETS = [[6, 8, 2], [12, 13, 14, 15, 2], [20, 2]]
BEGIN = 1


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        kind = "I32" if tensor.dtype == torch.int32 else "F64"
        raw = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def positions(length):
    table = torch.zeros(length, D, dtype=torch.float64)
    for p in range(length):
        for i in range(0, D, 2):
            table[p, i] = math.sin(p / 10000 ** (i / D))
            table[p, i + 1] = math.cos(p / 10000 ** (i / D))
    return table


def pad(sequences):
    longest = max(map(len, sequences))
    ids = torch.tensor([s + [0] * (longest - len(s)) for s in sequences])
    mask = torch.tensor([[False] * len(s) + [True] * (longest - len(s)) for s in sequences])
    return ids, mask


def dragoman_names(transformer):
    """(Dragoman's name, PyTorch's parameter, rows or None) in any order; rows cut a fused in-projection."""
    for stack, layers in (("encoder", transformer.encoder.layers), ("decoder", transformer.decoder.layers)):
        for i, layer in enumerate(layers):
            prefix = f"{stack}.layers.{i}."
            yield prefix + "self_attention.qkv.weight", layer.self_attn.in_proj_weight, None
            yield prefix + "self_attention.qkv.bias", layer.self_attn.in_proj_bias, None
            yield prefix + "self_attention.out.weight", layer.self_attn.out_proj.weight, None
            yield prefix + "self_attention.out.bias", layer.self_attn.out_proj.bias, None
            if stack == "decoder":
                cross = layer.multihead_attn
                yield prefix + "cross_attention.q.weight", cross.in_proj_weight, slice(0, D)
                yield prefix + "cross_attention.q.bias", cross.in_proj_bias, slice(0, D)
                yield prefix + "cross_attention.kv.weight", cross.in_proj_weight, slice(D, 3 * D)
                yield prefix + "cross_attention.kv.bias", cross.in_proj_bias, slice(D, 3 * D)
                yield prefix + "cross_attention.out.weight", cross.out_proj.weight, None
                yield prefix + "cross_attention.out.bias", cross.out_proj.bias, None
            norms = ["self_attention_norm", "cross_attention_norm", "feed_forward_norm"]
            if stack == "encoder":
                norms.remove("cross_attention_norm")
            for n, name in enumerate(norms, 1):
                norm = getattr(layer, f"norm{n}")
                yield prefix + name + ".weight", norm.weight, None
                yield prefix + name + ".bias", norm.bias, None
            yield prefix + "feed_forward.in.weight", layer.linear1.weight, None
            yield prefix + "feed_forward.in.bias", layer.linear1.bias, None
            yield prefix + "feed_forward.out.weight", layer.linear2.weight, None
            yield prefix + "feed_forward.out.bias", layer.linear2.bias, None
        norm = getattr(transformer, stack).norm
        if norm is not None:
            yield f"{stack}.final_norm.weight", norm.weight, None
            yield f"{stack}.final_norm.bias", norm.bias, None


def make(norm_first, activation, path):
    torch.manual_seed(1)
    transformer = torch.nn.Transformer(D, HEADS, LAYERS, LAYERS, INNER, dropout=0.0, activation=activation, batch_first=True,
                                       norm_first=norm_first, layer_norm_eps=1e-5).double()
    if not norm_first:
        transformer.encoder.norm = None
        transformer.decoder.norm = None
    embedding = torch.nn.Parameter(torch.randn(VOCABULARY, D, dtype=torch.float64) * D**-0.5)
    for parameter in transformer.parameters():  # gains of 1 and biases of 0 would hide mistakes
        parameter.data += 0.1 * torch.randn_like(parameter)

    source, source_mask = pad(SOURCES)
    inputs, target_mask = pad([[BEGIN] + t[:-1] for t in TARGETS])
    embed = lambda ids: embedding[ids] * math.sqrt(D) + positions(ids.shape[1])
    causal = torch.triu(torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool), 1)
    transformer.train()  # the inference fast path of PyTorch skips masked positions differently
    states = transformer(embed(source), embed(inputs), tgt_mask=causal, src_key_padding_mask=source_mask,
                         tgt_key_padding_mask=target_mask, memory_key_padding_mask=source_mask)
    states = states[~target_mask]
    logits = states @ embedding.T
    flat_targets = torch.tensor([token for t in TARGETS for token in t])
    loss = torch.nn.functional.cross_entropy(logits, flat_targets, label_smoothing=SMOOTHING, reduction="sum")
    loss.backward()

    tensors = {"batch.logits": logits, "batch.loss": loss.reshape(1), "embedding.weight": embedding,
               "gradient.embedding.weight": embedding.grad}
    for name, parameter, rows in dragoman_names(transformer):
        rows = rows if rows is not None else slice(None)
        tensors[name] = parameter[rows]
        tensors["gradient." + name] = parameter.grad[rows]
    write_safetensors(path, tensors)
    print(path, "loss", float(loss), "parameters", sum(p.numel() for p in transformer.parameters()) + embedding.numel())


if __name__ == "__main__":
    make(True, "relu", "transformer_pre.safetensors")
    make(False, "gelu", "transformer_post.safetensors")
