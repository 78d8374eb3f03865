"""Reads the event files of a run with the real TensorBoard and compares every scalar with metrics.jsonl.

    pip install tensorboard && python check_tensorboard.py RUN
"""
import json
import math
import pathlib
import struct
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = pathlib.Path(sys.argv[1])
events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0, "tensors": 0})
events.Reload()
found = {(tag, event.step): event.value for tag in events.Tags()["scalars"] for event in events.Scalars(tag)}
wanted = {}
for line in open(run / "metrics.jsonl", encoding="utf-8"):
    item = json.loads(line)
    if item["type"] == "sample":
        continue
    group = "train" if item["type"] == "training" else "validation"
    for key, value in item.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and key not in ("update", "seconds", "target_tokens"):
            wanted[f"{group}/{key}", item["update"]] = struct.unpack("f", struct.pack("f", value))[0]
    if group == "train":
        rate = item["target_tokens"] / item["seconds"]
        wanted["train/tokens_per_second", item["update"]] = struct.unpack("f", struct.pack("f", rate))[0]
assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
for key, value in wanted.items():
    assert math.isclose(found[key], value, rel_tol=1e-6), (key, found[key], value)
texts = [tag for tag in events.Tags()["tensors"] if tag.endswith("text_summary")]
for tag in texts:
    assert all(b"prediction" in event.tensor_proto.string_val[0] for event in events.Tensors(tag)), tag
print(f"{len(found)} scalars of {len(events.Tags()['scalars'])} tags and {len(texts)} texts are as they should be")
