"""Trains a Transformer with PyTorch as a script of its users would: nn.Transformer, batches of pairs of like lengths, Adam in its fused form.
Reads one JSON object from stdin (see training.py), writes one JSON line for each report to stdout:
{"update": N, "target_tokens": T, "seconds": S, "nll": mean negative log-likelihood of a target token, in training}."""
import json
import math
import random
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional

PAD, BEGIN, END = 0, 1, 2  # rows of the embeddings in front of those of the pieces
SHIFT = 3


class Model(nn.Module):
    def __init__(self, vocabulary, shape):
        super().__init__()
        width = shape["d_model"]
        self.embedding = nn.Embedding(vocabulary + SHIFT, width)
        nn.init.normal_(self.embedding.weight, std=width ** -0.5)
        self.scale = math.sqrt(width)
        self.dropout = nn.Dropout(shape["dropout"])
        self.transformer = nn.Transformer(width, shape["heads"], shape["encoder_layers"], shape["decoder_layers"], shape["feed_forward"],
                                          shape["dropout"], batch_first=True, norm_first=True)
        for parameter in self.transformer.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        self.register_buffer("positions", sinusoids(512, width), persistent=False)

    def embed(self, tokens):
        return self.dropout(self.embedding(tokens) * self.scale + self.positions[:tokens.size(1)])

    def forward(self, source, target):
        padding = source == PAD
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        states = self.transformer(self.embed(source), self.embed(target), tgt_mask=causal, tgt_is_causal=True,
                                  src_key_padding_mask=padding, memory_key_padding_mask=padding)
        return functional.linear(states, self.embedding.weight)


def sinusoids(length, width):
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000) / width))
    angles = torch.arange(length).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(length, width)


def read_ids(path):
    with open(path, encoding="ascii") as file:
        return [[int(word) + SHIFT for word in line.split()] for line in file]


def batches(pairs, limit, generator):
    """Pairs of like lengths until either side, padded, would have more than so many tokens; in random order."""
    pairs = pairs[:]
    generator.shuffle(pairs)
    pairs.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
    result, batch, source, target = [], [], 0, 0
    for pair in pairs:
        source, target = max(source, len(pair[0]) + 1), max(target, len(pair[1]) + 1)
        if batch and max(source, target) * (len(batch) + 1) > limit:
            result.append(batch)
            batch, source, target = [], len(pair[0]) + 1, len(pair[1]) + 1
        batch.append(pair)
    result.append(batch)
    generator.shuffle(result)
    return result


def padded(rows):
    length = max(map(len, rows))
    return torch.tensor([row + [PAD] * (length - len(row)) for row in rows])


def tensors(batch):
    source = padded([pair[0] + [END] for pair in batch])
    target = padded([[BEGIN] + pair[1] for pair in batch])
    labels = padded([pair[1] + [END] for pair in batch])
    return source, target, labels


def main():
    task = json.loads(sys.stdin.read())
    torch.set_num_threads(task["threads"])
    torch.manual_seed(1)
    generator = random.Random(1)
    longest = task["maximum_length"]
    pairs = [pair for pair in zip(read_ids(task["source"]), read_ids(task["target"]))
             if pair[0] and pair[1] and len(pair[0]) < longest and len(pair[1]) < longest]
    model = Model(task["vocabulary"], task["shape"])
    step_model = torch.compile(model, dynamic=True) if task["compile"] else model
    optimizer = torch.optim.Adam(model.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    update, queue = 0, []
    model.train()
    while update < task["updates"]:
        seconds = tokens = 0
        nll = 0.0
        for _ in range(task["report_every"]):
            if not queue:
                queue = [tensors(batch) for batch in batches(pairs, task["batch_tokens"], generator)]
            begin = time.perf_counter()
            source, target, labels = queue.pop()
            update += 1
            optimizer.param_groups[0]["lr"] = task["learning_rate"] * min(update / task["warmup"], math.sqrt(task["warmup"] / update))
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=task["bf16"]):
                logits = step_model(source, target)
                flat, gold = logits.flatten(0, 1), labels.flatten()
                loss = functional.cross_entropy(flat.float(), gold, ignore_index=PAD, label_smoothing=task["label_smoothing"])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            count = int((labels != PAD).sum())
            seconds += time.perf_counter() - begin
            with torch.no_grad():  # not counted: Dragoman's loss comes with the gradient
                nll += float(functional.cross_entropy(flat.float(), gold, ignore_index=PAD)) * count
            tokens += count
        print(json.dumps({"update": update, "target_tokens": tokens, "seconds": seconds, "nll": nll / tokens,
                          "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


if __name__ == "__main__":
    main()
