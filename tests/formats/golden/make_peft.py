#!/usr/bin/env python3
"""Makes the folders of golden/peft: low-rank adapters of models of golden/huggingface as PEFT saves them, with random
numbers, and expected.json, the log probabilities of some lines with them. With peft 0.12.0, transformers 4.44.2 and
torch 1.13.1: make_peft.py GOLDEN, where GOLDEN holds huggingface and gets peft.
make_peft.py check MODEL RUN LINES...: whether PEFT, with the adapters that a run has written and MODEL as `convert --to
huggingface` writes it, gives the weights of the model that the run has merged, written likewise as RUN.
"""
import json
import os
import sys

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model

CASES = {
    # Shares of weights that stand side by side here, one of them with a rank of its own.
    "marian": ("marian", transformers.MarianMTModel,
               dict(r=3, lora_alpha=12, target_modules=["q_proj", "v_proj", "fc1", "out_proj"],
                    rank_pattern={"fc1": 2}, alpha_pattern={"decoder.layers.1.self_attn.q_proj": 5})),
    "flan-t5": ("flan-t5", transformers.T5ForConditionalGeneration,
                dict(r=4, lora_alpha=3, target_modules=["q", "v", "wi_1", "wo"], use_rslora=True)),
}


def make(golden, name):
    family, kind, options = CASES[name]
    base = os.path.join(golden, "huggingface", family)
    torch.manual_seed(len(name))
    model = get_peft_model(kind.from_pretrained(base).eval(), LoraConfig(task_type="SEQ_2_SEQ_LM", **options))
    for parameter, values in model.named_parameters():
        if "lora_B" in parameter:
            torch.nn.init.normal_(values, std=0.05)
    folder = os.path.join(golden, "peft", name)
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "README.md"))
    config = os.path.join(folder, "adapter_config.json")
    with open(config) as file:
        settings = json.load(file)
    settings["base_model_name_or_path"] = f"../../huggingface/{family}"
    settings["target_modules"].sort()
    with open(config, "w") as file:
        json.dump(settings, file, indent=2, sort_keys=True)
    with open(os.path.join(base, "expected.json")) as file:
        lines = json.load(file)["lines"][:6]
    model.eval()
    expected = []
    for line in lines:
        # As in make_huggingface.py; neither family forces a first token.
        labels = torch.tensor([line["target_ids"] + [model.config.eos_token_id]])
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([line["source_ids"]]), labels=labels).logits[0]
        chosen = torch.log_softmax(logits, -1)[range(labels.shape[1]), labels[0]]
        expected.append(dict(source=line["source"], target=line["target"],
                             log_probabilities=[round(value, 7) for value in chosen.tolist()]))
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(dict(lines=expected), file, indent=1)


def check(base, merged, adapters):
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(base)
    with_adapters = PeftModel.from_pretrained(model, adapters).merge_and_unload().state_dict()
    wanted = transformers.AutoModelForSeq2SeqLM.from_pretrained(merged).state_dict()
    worst = max((with_adapters[name] - values).abs().max().item() for name, values in wanted.items())
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(base).state_dict()
    moved = max((plain[name] - values).abs().max().item() for name, values in wanted.items())
    print(f"{len(wanted)} tensors, largest difference {worst:.2e}, by adapters {moved:.2e}")
    if not worst < 1e-5 < moved:
        sys.exit("they differ")


if __name__ == "__main__":
    if sys.argv[1] == "check":
        check(*sys.argv[2:5])
    else:
        for case in CASES:
            make(sys.argv[1], case)
