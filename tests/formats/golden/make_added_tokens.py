#!/usr/bin/env python3
"""Makes golden/added_tokens: for folders of golden/huggingface what transformers 5 saves of their tokenizers, with an
added token where the model has a row for it, and in ids.json what it makes of a text. With transformers 5.24.0 and
protobuf: make_added_tokens.py HUGGINGFACE FOLDER
"""
import json
import os
import shutil
import sys

import transformers

TEXT = "Bread <brk> and<brk>the  train."
ids = {}
for family in ["nllb", "mbart50", "pegasus", "t5", "bart"]:
    folder = os.path.join(sys.argv[2], family)
    shutil.rmtree(folder, ignore_errors=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(os.path.join(sys.argv[1], family))
    with open(os.path.join(sys.argv[1], family, "config.json")) as file:
        if len(tokenizer) < json.load(file)["vocab_size"]:
            tokenizer.add_tokens(["<brk>"])
    tokenizer.save_pretrained(folder)
    with open(os.path.join(folder, "tokenizer.json")) as file:
        content = json.load(file)
    with open(os.path.join(folder, "tokenizer.json"), "w") as file:
        json.dump(content, file, ensure_ascii=False, separators=(",", ":"))
    ids[family] = {"text": TEXT, "ids": tokenizer(TEXT, add_special_tokens=False).input_ids}
with open(os.path.join(sys.argv[2], "ids.json"), "w") as file:
    json.dump(ids, file, indent=1)
    file.write("\n")
