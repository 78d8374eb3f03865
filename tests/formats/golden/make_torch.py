#!/usr/bin/env python3
"""Makes the files of golden/torch; with torch 1.13.1 and Python 3.11: make_torch.py FOLDER"""
import argparse
import collections
import os
import sys

import torch

folder = sys.argv[1]
grid = torch.arange(12.0).reshape(3, 4)
state = torch.nn.Linear(1, 1).state_dict()  # an OrderedDict with attributes of its own
state.clear()
state["grid"] = grid
state["turned"] = grid.t()
state["row"] = grid[1]
state["half"] = (grid / 8).half()
state["bfloat16"] = (grid * 3).bfloat16()
state["double"] = grid.double() / 3
state["long"] = torch.arange(-2, 3)
state["bool"] = torch.tensor([True, False])
state["one"] = torch.tensor(2.5)
state["none"] = torch.zeros(0, 3)
state["parameter"] = torch.nn.Parameter(torch.ones(2))
torch.save(state, os.path.join(folder, "state.pt"))
torch.save(state, os.path.join(folder, "protocol4.pt"), pickle_protocol=4)
torch.save(state, os.path.join(folder, "old.pt"), _use_new_zipfile_serialization=False)
torch.save({"model": collections.OrderedDict(grid=grid),
            "args": argparse.Namespace(arch="transformer", layers=[1, 2.5, -5, 1 << 40], nothing=None)},
           os.path.join(folder, "checkpoint.pt"))


class Command:
    def __reduce__(self):
        return os.system, ("touch ran",)


torch.save({"weight": grid, "more": Command()}, os.path.join(folder, "hostile.pt"))
