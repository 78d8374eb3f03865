#!/usr/bin/env python3
"""Writes torch.json: what PyTorch computes, in double precision, for small cases of each op.

    python3 tests/models/ops/golden/make_torch_golden.py > tests/models/ops/golden/torch.json

Made with PyTorch 1.13 (Debian python3-torch). Inputs are drawn here and kept in the file, rounded to floats.
"""
import json
import math

import torch
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)


def draw(*shape, scale=1.0):
    return (torch.randn(*shape) * scale).to(torch.float32).to(torch.float64)


def flat(tensor):
    return [float(f"{x:.12g}") for x in tensor.detach().reshape(-1).tolist()]


def exact(tensor):
    return tensor.detach().reshape(-1).tolist()


def case(function, *inputs):
    inputs = [x.clone().requires_grad_(True) for x in inputs]
    output = function(*inputs)
    weights = draw(*output.shape)
    (output * weights).sum().backward()
    return {
        "inputs": [{"shape": list(x.shape), "values": exact(x)} for x in inputs],
        "output": flat(output),
        "weights": exact(weights),
        "gradients": [flat(x.grad) for x in inputs],
    }


def attention(heads, causal):
    def run(q, k, v):
        m, n, width = q.shape[0], k.shape[0], q.shape[1] // heads
        blocks = []
        for h in range(heads):
            columns = slice(h * width, (h + 1) * width)
            scores = q[:, columns] @ k[:, columns].T / math.sqrt(width)
            if causal:
                scores = scores.masked_fill(torch.ones(m, n).triu(n - m + 1).bool(), -math.inf)
            blocks.append(torch.softmax(scores, -1) @ v[:, columns])
        return torch.cat(blocks, 1)

    return run


def biased_attention(q, k, v, bias):
    """T5's: scores without a scale, and a bias by how far the key is from the query, up to two tokens."""
    m, n, heads = q.shape[0], k.shape[0], bias.shape[1]
    width = q.shape[1] // heads
    distance = torch.arange(n)[None, :] - (torch.arange(m) + n - m)[:, None]
    added = bias[distance.clamp(-2, 2) + 2].permute(2, 0, 1)
    split = lambda x: x.reshape(x.shape[0], heads, width).transpose(0, 1)
    weights = torch.softmax(split(q) @ split(k).transpose(1, 2) + added, -1)
    return (weights @ split(v)).transpose(0, 1).reshape(m, heads * width)


def rms_norm(x, gain):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * gain


def cross_entropy(smoothing):
    targets = [2, 0, 4, 4]

    def run(hidden, weight, bias):
        logits = F.linear(hidden, weight, bias)
        return F.cross_entropy(logits, torch.tensor(targets), reduction="sum", label_smoothing=smoothing).reshape(1, 1)

    result = case(run, draw(4, 3), draw(5, 3), draw(1, 5))
    result.update(targets=targets, smoothing=smoothing)
    return result


def adam(weight_decay):
    parameter = torch.nn.Parameter(draw(1, 6))
    start = exact(parameter)
    optimizer = torch.optim.AdamW([parameter], lr=0.01, betas=(0.9, 0.98), eps=1e-9, weight_decay=weight_decay)
    steps = []
    for step in range(5):
        gradient = draw(1, 6, scale=10.0 ** (step - 3))
        parameter.grad = gradient
        optimizer.step()
        steps.append({"gradient": exact(gradient), "parameters": flat(parameter)})
    return {"start": start, "weight_decay": weight_decay, "steps": steps}


golden = {
    "torch": torch.__version__,
    "gelu": case(F.gelu, draw(3, 5, scale=2)),
    "swish": case(F.silu, draw(3, 5, scale=2)),
    "relu": case(F.relu, draw(3, 5, scale=2)),
    "sigmoid": case(torch.sigmoid, draw(3, 5, scale=2)),
    "tanh": case(torch.tanh, draw(3, 5, scale=2)),
    "softmax": case(lambda x: F.softmax(x, -1), draw(3, 7, scale=2)),
    "log_softmax": case(lambda x: F.log_softmax(x, -1), draw(3, 7, scale=2)),
    "layer_norm": case(lambda x, g, b: F.layer_norm(x, (6,), g[0], b[0], 1e-5), draw(4, 6, scale=2), draw(1, 6), draw(1, 6)),
    "linear": case(lambda x, w, b: F.linear(x, w, b[0]), draw(4, 3), draw(5, 3), draw(1, 5)),
    "attention": case(attention(2, False), draw(3, 6), draw(4, 6), draw(4, 6)),
    "attention_causal": case(attention(3, True), draw(2, 6), draw(4, 6), draw(4, 6)),
    "cross_entropy": cross_entropy(0.0),
    "cross_entropy_smoothed": cross_entropy(0.1),
    "adam": adam(0.0),
    "adamw": adam(0.1),
    "gelu_tanh": case(lambda x: F.gelu(x, approximate="tanh"), draw(3, 5, scale=2)),
    "rms_norm": case(rms_norm, draw(4, 6, scale=2), draw(1, 6)),
    "attention_biased": case(biased_attention, draw(3, 6), draw(5, 6), draw(5, 6), draw(5, 2)),
}
print(json.dumps(golden, indent=None, separators=(",", ":")).replace("},\"", "},\n\""))
