#!/usr/bin/env python3
"""Writes training_curve.json: losses and gradient norms of a tiny transformer that PyTorch trains in double precision.

  python3 tests/training/golden/make_training_curve.py > tests/training/golden/training_curve.json

Needs PyTorch; made with 1.13.1 (Debian python3-torch). Sentences, weights, batches, loss, clipping, Adam and schedule are those of
training_curve_test.cpp. The model is torch.nn.Transformer as in tests/models/transformer/golden/make_golden.py; gradients are torch's, and
the update of Adam with decoupled weight decay is written out from the papers (Kingma & Ba 2015; Loshchilov & Hutter 2019).
"""
import json
import math
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "transformer" / "golden"))
import make_golden as base  # names of parameters, positions, padding

VOCABULARY, PAIRS_PER_UPDATE, PAIRS, UPDATES = 14, 8, 64, 300
SMOOTHING, CLIP_NORM = 0.1, 1.0
D, HEADS, INNER = 16, 2, 32
PEAK, WARMUP = 0.01, 30
BETA1, BETA2, EPSILON, DECAY = 0.9, 0.98, 1e-9, 0.01
SHOWN = [1, 2, 3, 5, 10, 20, 30, 50, 75, 100, 150, 200, 250, 300]
base.D = D


class Draws:
    """The numbers of POSIX's rand48."""

    def __init__(self, seed):
        self.state = (seed << 16) + 0x330E

    def uniform(self):
        self.state = (self.state * 0x5DEECE66D + 0xB) & 0xFFFFFFFFFFFF
        return self.state / 2**48

    def below(self, bound):
        return int(self.uniform() * bound)


def sentences():
    draws, pairs = Draws(1), []
    for _ in range(PAIRS):
        tokens = [None] * (3 + draws.below(6))
        for i in range(len(tokens)):
            tokens[i] = 3 + draws.below(VOCABULARY - 3)
        pairs.append((tokens + [2], tokens[::-1] + [2]))
    return pairs


def draw_parameters(parameters):
    """`parameters`: (name, tensor) of Dragoman's names, each a view of a part of the model."""
    draws = Draws(2)
    for name, tensor in sorted(parameters):
        rank = tensor.dim()
        gain = rank == 1 and "norm.weight" in name
        scale = 0.1 if rank == 1 else math.sqrt(3.0 / tensor.shape[1])
        values = [(1 if gain else 0) + scale * (2 * draws.uniform() - 1) for _ in range(tensor.numel())]
        tensor.copy_(torch.tensor(values, dtype=torch.float64).reshape(tensor.shape))


def learning_rate(update):
    return PEAK * update / WARMUP if update < WARMUP else PEAK * math.sqrt(WARMUP / update)


def main():
    torch.set_num_threads(1)
    transformer = torch.nn.Transformer(D, HEADS, 1, 1, INNER, dropout=0.0, activation="relu", batch_first=True, norm_first=True,
                                       layer_norm_eps=1e-5).double()
    embedding = torch.nn.Parameter(torch.empty(VOCABULARY, D, dtype=torch.float64))
    views = [(name, parameter.data[rows if rows is not None else slice(None)])
             for name, parameter, rows in base.dragoman_names(transformer)]
    draw_parameters(views + [("embedding.weight", embedding.data)])
    parameters = list(transformer.parameters()) + [embedding]
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]

    def loss_of(pairs):
        source, source_mask = base.pad([s for s, _ in pairs])
        inputs, target_mask = base.pad([[base.BEGIN] + t[:-1] for _, t in pairs])
        embed = lambda ids: embedding[ids] * math.sqrt(D) + base.positions(ids.shape[1])
        causal = torch.triu(torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool), 1)
        states = transformer(embed(source), embed(inputs), tgt_mask=causal, src_key_padding_mask=source_mask,
                             tgt_key_padding_mask=target_mask, memory_key_padding_mask=source_mask)
        targets = torch.tensor([token for _, t in pairs for token in t])
        return torch.nn.functional.cross_entropy(states[~target_mask] @ embedding.T, targets, label_smoothing=SMOOTHING)

    everything = sentences()
    losses, norms = [], []
    for update in range(1, UPDATES + 1):
        begin = (update - 1) * PAIRS_PER_UPDATE
        loss = loss_of([everything[(begin + i) % PAIRS] for i in range(PAIRS_PER_UPDATE)])
        for p in parameters:
            p.grad = None
        loss.backward()
        norm = math.sqrt(sum(float((p.grad**2).sum()) for p in parameters))
        losses.append(float(loss))
        norms.append(norm)
        clip = CLIP_NORM / norm if norm > CLIP_NORM else 1
        with torch.no_grad():
            for p, (m, v) in zip(parameters, moments):
                g = p.grad * clip
                m.mul_(BETA1).add_((1 - BETA1) * g)
                v.mul_(BETA2).add_((1 - BETA2) * g * g)
                direction = m / (1 - BETA1**update) / ((v / (1 - BETA2**update)).sqrt() + EPSILON) + DECAY * p
                p.sub_(learning_rate(update) * direction)
    print(json.dumps({"updates": SHOWN, "losses": [losses[u - 1] for u in SHOWN], "gradient_norms": [norms[u - 1] for u in SHOWN]},
                     indent=1))


if __name__ == "__main__":
    main()
