#!/usr/bin/env python3
"""Writes update_rules.json: several steps of optimisers on one parameter, in double precision.

    python3 tests/models/ops/golden/make_update_rules_golden.py > tests/models/ops/golden/update_rules.json

Made with PyTorch 2.15: torch.optim's Adam, SGD and Adafactor. PyTorch's Adafactor has neither `scale_parameter: false`
nor a weight decay that goes with the step's own rate, and Lion is not in it: those follow the papers' formulas here
(Shazeer & Stern 2018, algorithm 4; Chen et al. 2023, algorithm 2). Inputs are floats, and kept in the file.
"""
import json

import torch

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
STEPS = 6


def draw(*shape, scale=1.0):
    return (torch.randn(*shape) * scale).to(torch.float32).to(torch.float64)


def exact(tensor):
    return tensor.detach().reshape(-1).tolist()


def record(rows, cols, make):
    """make(parameter) gives step(t), with the gradient in parameter.grad."""
    parameter = torch.nn.Parameter(draw(rows, cols))
    result = {"rows": rows, "cols": cols, "start": exact(parameter), "steps": []}
    step = make(parameter)
    for t in range(1, STEPS + 1):
        parameter.grad = draw(rows, cols, scale=10.0 ** (t % 3 - 2))
        gradient = exact(parameter.grad)
        step(t)
        values = [float(f"{x:.12g}") for x in exact(parameter)]
        result["steps"].append({"gradient": gradient, "parameters": values})
    return result


def of_torch(kind, **options):
    def make(parameter):
        optimizer = kind([parameter], **options)
        return lambda t: optimizer.step()

    return make


def lion(beta1, beta2, lr, decay):
    def make(p):
        m = torch.zeros_like(p)

        def step(t):
            with torch.no_grad():
                p.sub_(lr * (torch.sign(beta1 * m + (1 - beta1) * p.grad) + decay * p))
                m.mul_(beta2).add_((1 - beta2) * p.grad)

        return step

    return make


def adafactor(lr, decay, threshold):
    def make(p):
        r, c = torch.zeros(p.shape[0]), torch.zeros(p.shape[1])

        def step(t):
            with torch.no_grad():
                b = 1 - t**-0.8
                square = p.grad**2 + 1e-30
                r.mul_(b).add_((1 - b) * square.mean(1))
                c.mul_(b).add_((1 - b) * square.mean(0))
                u = p.grad / torch.sqrt(torch.outer(r, c) / r.mean())
                u /= max(1.0, u.pow(2).mean().sqrt().item() / threshold)
                p.sub_(lr * (u + decay * p))

        return step

    return make


print(json.dumps({
    "torch": torch.__version__,
    "adam_coupled": record(1, 7, of_torch(torch.optim.Adam, lr=0.01, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1)),
    "sgd": record(1, 7, of_torch(torch.optim.SGD, lr=0.1, weight_decay=0.1)),
    "sgd_momentum": record(1, 7, of_torch(torch.optim.SGD, lr=0.1, momentum=0.9)),
    "sgd_nesterov": record(1, 7, of_torch(torch.optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)),
    "lion": record(1, 7, lion(0.9, 0.98, 0.01, 0.1)),
    "adafactor_matrix": record(5, 7, of_torch(torch.optim.Adafactor, lr=0.05, weight_decay=0.0)),
    "adafactor_vector": record(1, 7, of_torch(torch.optim.Adafactor, lr=0.05, weight_decay=0.0)),
    "adafactor_unscaled": record(4, 3, adafactor(0.05, 0.1, 0.7)),
}, separators=(",", ":")).replace('},"', '},\n"'))
