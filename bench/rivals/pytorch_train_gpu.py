"""Trains a Transformer with PyTorch on a GPU as fast as its users can: its own layers over scaled_dot_product_attention (the flash kernel for
causal attention, the memory-efficient one where the padding of the source must be left out), one product for queries, keys and values, autocast,
fused AdamW, compiled or not, batches in pinned memory, and no waiting for the device but at reports.
Reads one JSON object from stdin (see training.py), writes one JSON line for each report to stdout:
{"update": N, "source_tokens": S, "target_tokens": T, "seconds": S, "loss": mean smoothed loss of a target token, in training, "memory": MB}."""
import json
import math
import random
import sys
import time

import torch
from torch import nn
from torch.nn import functional

from pytorch_train import PAD, SHIFT, batches, read_ids, sinusoids, tensors


class Attention(nn.Module):
    def __init__(self, width, heads, dropout, crosses):
        super().__init__()
        self.heads, self.dropout, self.crosses = heads, dropout, crosses
        self.inputs = nn.ModuleList([nn.Linear(width, width), nn.Linear(width, 2 * width)] if crosses else [nn.Linear(width, 3 * width)])
        self.output = nn.Linear(width, width)

    def forward(self, x, memory=None, mask=None, causal=False):
        parts = [*self.inputs[0](x).chunk(1, -1), *self.inputs[1](memory).chunk(2, -1)] if self.crosses else self.inputs[0](x).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        y = functional.scaled_dot_product_attention(q, k, v, mask, self.dropout if self.training else 0.0, causal)
        return self.output(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, shape, crosses):
        super().__init__()
        width = shape["d_model"]
        self.attentions = nn.ModuleList(Attention(width, shape["heads"], shape["dropout"], crosses and i == 1) for i in range(2 if crosses else 1))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if crosses else 2))
        self.inner, self.outer = nn.Linear(width, shape["feed_forward"]), nn.Linear(shape["feed_forward"], width)
        self.dropout = nn.Dropout(shape["dropout"])

    def forward(self, x, mask, memory=None):
        decodes = len(self.attentions) == 2
        x = x + self.dropout(self.attentions[0](self.norms[0](x), mask=None if decodes else mask, causal=decodes))
        if decodes:
            x = x + self.dropout(self.attentions[1](self.norms[1](x), memory, mask))
        return x + self.dropout(self.outer(self.dropout(functional.relu(self.inner(self.norms[-1](x))))))


class Model(nn.Module):
    def __init__(self, vocabulary, shape):
        super().__init__()
        width = shape["d_model"]
        self.embedding = nn.Embedding((vocabulary + SHIFT + 63) // 64 * 64, width)  # as tensor cores like it
        self.scale = math.sqrt(width)
        self.dropout = nn.Dropout(shape["dropout"])
        self.encoder = nn.ModuleList(Layer(shape, False) for _ in range(shape["encoder_layers"]))
        self.decoder = nn.ModuleList(Layer(shape, True) for _ in range(shape["decoder_layers"]))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.register_buffer("positions", sinusoids(512, width), persistent=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        nn.init.normal_(self.embedding.weight, std=width ** -0.5)

    def embed(self, tokens):
        return self.dropout(self.embedding(tokens) * self.scale + self.positions[:tokens.size(1)])

    def forward(self, source, target):
        mask = (source != PAD)[:, None, None, :]  # right-padded targets need none: what is behind is not looked at
        memory, x = self.embed(source), self.embed(target)
        for layer in self.encoder:
            memory = layer(memory, mask)
        memory = self.norms[0](memory)
        for layer in self.decoder:
            x = layer(x, mask, memory)
        return functional.linear(self.norms[1](x), self.embedding.weight)


def main():
    task = json.loads(sys.stdin.read())
    torch.manual_seed(1)
    generator = random.Random(1)
    longest = task["maximum_length"]
    pairs = [pair for pair in zip(read_ids(task["source"]), read_ids(task["target"]))
             if pair[0] and pair[1] and len(pair[0]) < longest and len(pair[1]) < longest]
    model = Model(task["vocabulary"], task["shape"]).cuda()

    def loss_of(source, target, labels):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=task["bf16"]):
            logits = model(source, target)
        return functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=PAD, label_smoothing=task["label_smoothing"])

    step = torch.compile(loss_of, dynamic=True) if task["compile"] else loss_of
    optimizer = torch.optim.AdamW(model.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9, weight_decay=0, fused=True)
    update, queue = 0, []
    model.train()
    while update < task["updates"]:
        while len(queue) < task["report_every"]:  # not counted
            queue = [[tensor.pin_memory() for tensor in tensors(batch)] for batch in batches(pairs, task["batch_tokens"], generator)] + queue
        counts, losses = [0, 0], []
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(task["report_every"]):
            batch = queue.pop()
            source, target, labels = (tensor.cuda(non_blocking=True) for tensor in batch)
            update += 1
            optimizer.param_groups[0]["lr"] = task["learning_rate"] * min(update / task["warmup"], math.sqrt(task["warmup"] / update))
            loss = step(source, target, labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            tokens = [int((batch[i] != PAD).sum()) for i in (0, 2)]  # on the host
            counts = [total + count for total, count in zip(counts, tokens)]
            losses.append(loss.detach() * tokens[1])
        loss = float(torch.stack(losses).sum()) / counts[1]  # waits
        torch.cuda.synchronize()
        print(json.dumps({"update": update, "source_tokens": counts[0], "target_tokens": counts[1], "seconds": time.perf_counter() - begin,
                          "loss": loss, "memory": torch.cuda.max_memory_allocated() / 1e6}), flush=True)


if __name__ == "__main__":
    main()
