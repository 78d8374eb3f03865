#!/usr/bin/env python3
"""Makes golden/copies.json: folders of golden/huggingface with copies of tied tables that differ, as data (a copy is
another table whose rows have moved up by some), and the log probabilities that transformers computes for them. With
transformers 5.24.0 and torch 2.15.0: make_copies.py HUGGINGFACE > copies.json
"""
import json
import os
import shutil
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

B = "model.shared.weight"
CASES = [
    ("t5", {}, {"lm_head.weight": ("shared.weight", 1)}),
    ("t5", {"scale_decoder_outputs": False}, {"lm_head.weight": ("shared.weight", 1)}),
    ("t5", {"scale_decoder_outputs": False}, {}),
    ("t5", {}, {"lm_head.weight": ("shared.weight", 0)}),
    ("flan-t5", {"tie_word_embeddings": True, "scale_decoder_outputs": False}, {}),
    ("flan-t5", {"tie_word_embeddings": True}, {}),
    ("umt5", {}, {"lm_head.weight": ("shared.weight", 2)}),
    ("mt5", {"tie_word_embeddings": True}, {}),
    ("bart", {}, {"lm_head.weight": (B, 1)}),
    ("bart", {}, {"model.encoder.embed_tokens.weight": (B, 1)}),
    ("bart", {}, {"model.decoder.embed_tokens.weight": (B, 3)}),
    ("bart", {}, {"model.encoder.embed_tokens.weight": (B, 0), "lm_head.weight": (B, 0)}),
    ("pegasus", {}, {"model.decoder.embed_tokens.weight": (B, 1), "lm_head.weight": (B, 1)}),
    ("nllb", {}, {"lm_head.weight": (B, 1), "model.encoder.embed_tokens.weight": (B, 2)}),
    ("marian-separate", {}, {"lm_head.weight": ("model.decoder.embed_tokens.weight", 1)}),
]


def compute(folder, lines):
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    start = [model.config.decoder_start_token_id]
    result = []
    for line in lines:
        labels = line["target_ids"] + [model.config.eos_token_id]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([line["source_ids"]]),
                           decoder_input_ids=torch.tensor([start + labels[:-1]])).logits[0].double()
        scores = torch.log_softmax(logits, -1)[range(len(labels)), labels]
        result.append([round(x, 6) for x in scores.tolist()])
    return result


def main():
    cases = []
    for family, config, copies in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, family)
            shutil.copytree(os.path.join(sys.argv[1], family), folder)
            with open(os.path.join(folder, "expected.json")) as file:
                lines = json.load(file)["lines"][:2]
            with open(os.path.join(folder, "config.json")) as file:
                known = json.load(file)
            with open(os.path.join(folder, "config.json"), "w") as file:
                json.dump({**known, **config}, file)
            if copies:
                weights = os.path.join(folder, "model.safetensors")
                tensors = load_file(weights)
                for name, (of, by) in copies.items():
                    tensors[name] = tensors[of].roll(-by, 0).clone()
                save_file(tensors, weights, {"format": "pt"})
            cases.append({"family": family, "config": config, "copies": copies,
                          "log_probabilities": compute(folder, lines)})
    print("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]")


if __name__ == "__main__":
    main()
