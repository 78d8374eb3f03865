#!/usr/bin/env python3
"""Writes buckets.json: the buckets that transformers' T5 puts distances into.

    python3 tests/models/t5/golden/make_buckets.py > tests/models/t5/golden/buckets.json

Made with transformers 4.44.2 and PyTorch 1.13 (Debian python3-torch). Of each setting the bucket of every distance from
-farthest to farthest is kept.
"""
import json

import torch
from transformers.models.t5.modeling_t5 import T5Attention

cases = []
for count, farthest in [(32, 128), (8, 20), (4, 3), (16, 64), (64, 256), (30, 100), (128, 800)]:
    for bidirectional in (True, False):
        distances = torch.arange(-2 * farthest, 2 * farthest + 1)
        buckets = T5Attention._relative_position_bucket(
            distances, bidirectional=bidirectional, num_buckets=count, max_distance=farthest)
        cases.append({"count": count, "farthest": farthest, "bidirectional": bidirectional, "buckets": buckets.tolist()})
print(json.dumps(cases, separators=(",", ":")).replace("},{", "},\n{"))
