#!/usr/bin/env python3
"""Makes the folders of golden/fairseq: for each family a random model of fairseq's own classes, saved as its trainer saves
it, with its dictionaries, and expected.json, what fairseq makes of some lines with it. With fairseq 0.12.2 from its
sources, torch 1.13.1, sentencepiece 0.2.3, subword-nmt's format of codes, Python 3.11:

    make_fairseq.py FAIRSEQ_SOURCES tests/formats/golden/fairseq [FAMILY...]
"""

import argparse
import dataclasses
import json
import os
import shutil
import sys

# Python 3.11 takes no defaults of a class that cannot be hashed, and fairseq has such.
plain_dataclass = dataclasses.dataclass


def hashable_dataclass(cls=None, **options):
    options.setdefault("unsafe_hash", not options.get("frozen", False))
    return plain_dataclass(cls, **options)


dataclasses.dataclass = hashable_dataclass
sys.path.insert(0, sys.argv[1])

import sentencepiece  # noqa: E402
import torch  # noqa: E402
from fairseq import checkpoint_utils  # noqa: E402
from fairseq.data import Dictionary  # noqa: E402
from fairseq.dataclass.utils import convert_namespace_to_omegaconf  # noqa: E402
from fairseq.models.transformer import TransformerModel, base_architecture  # noqa: E402
from fairseq.sequence_generator import SequenceGenerator  # noqa: E402
from fairseq.tasks.translation import TranslationTask  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402

SOURCES = ["ein hund läuft im schnee", "zwei kinder spielen", "eine frau liest ein buch", "der mann steht am see",
           "viele menschen warten", "das rote auto", "ein kleiner vogel", "sie lachen"]
TARGETS = ["a dog runs in the snow", "two children play", "a woman reads a book", "the man stands at the lake",
           "many people wait", "the red car", "a small bird", "they laugh"]
OTHERS = ["zwei frauen lachen", "ein buch", "der rote hund", "im see", "menschen am see lachen", "läuft ein kind"]
BEAM = 4
LONGEST = 40
STEPS = 150


def write_dictionary(path, counts):
    with open(path, "w", encoding="utf-8") as file:
        for word, count in counts:
            file.write(f"{word} {count}\n")


def counted(lines, cut):
    counts = {}
    for line in lines:
        for piece in cut(line):
            counts[piece] = counts.get(piece, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def sentencepiece_cut(folder, lines, size):
    prefix = os.path.join(folder, "sentencepiece.bpe")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=prefix, vocab_size=size, model_type="unigram",
        hard_vocab_limit=False, normalization_rule_name="identity", minloglevel=2)
    os.remove(prefix + ".vocab")
    processor = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
    return lambda line: processor.encode(line, out_type=str)


def codes_cut(folder, lines, merges):
    """Codes of subword-nmt, learned and used as its papers say."""
    words = {}
    for line in lines:
        for word in line.split():
            key = tuple(word[:-1]) + (word[-1] + "</w>",)
            words[key] = words.get(key, 0) + 1

    def merge(word, pair):
        result, i = [], 0
        while i < len(word):
            if word[i:i + 2] == pair:
                result.append(word[i] + word[i + 1])
                i += 2
            else:
                result.append(word[i])
                i += 1
        return tuple(result)

    codes = []
    for _ in range(merges):
        pairs = {}
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] = pairs.get(pair, 0) + count
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        codes.append(best)
        words = {merge(word, best): count for word, count in words.items()}
    with open(os.path.join(folder, "bpecodes"), "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in codes))

    def cut(line):
        pieces = []
        for word in line.split():
            parts = tuple(word[:-1]) + (word[-1] + "</w>",)
            for pair in codes:
                parts = merge(parts, pair)
            pieces += [part + "@@" for part in parts[:-1]] + [parts[-1][:-len("</w>")]]
        return pieces

    return cut


BASE = {
    "arch": "transformer", "task": "translation", "source_lang": "de", "target_lang": "en",
    "encoder_embed_dim": 16, "decoder_embed_dim": 16, "encoder_ffn_embed_dim": 24, "decoder_ffn_embed_dim": 24,
    "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "max_source_positions": 64, "max_target_positions": 64, "dropout": 0.1,
}
FAMILIES = {
    # As fairseq-train wrote checkpoints before 0.10: argparse.Namespace.
    "joint": {"cut": "sentencepiece", "joined": True, "saved": "args",
              "settings": {"share_all_embeddings": True}},
    # As it has done since: a dictionary with a Namespace in it.
    "codes": {"cut": "codes", "joined": False, "saved": "cfg",
              "settings": {"encoder_normalize_before": True, "decoder_normalize_before": True, "decoder_layers": 1,
                           "encoder_learned_pos": True, "decoder_learned_pos": True, "layernorm_embedding": True,
                           "no_scale_embedding": True, "activation_fn": "gelu",
                           "share_decoder_input_output_embed": True}},
    # With the objects of omegaconf, as some versions between.
    "separate": {"cut": "words", "joined": False, "saved": "objects", "half": True,
                 "settings": {"decoder_output_dim": 12, "encoder_normalize_before": True,
                              "decoder_normalize_before": True}},
}


def make(family, folder):
    spec = FAMILIES[family]
    lines = SOURCES + TARGETS + OTHERS
    cut = {"sentencepiece": lambda: sentencepiece_cut(folder, lines, 70), "codes": lambda: codes_cut(folder, lines, 60),
           "words": lambda: str.split}[spec["cut"]]()
    for language, text in (("de", SOURCES + OTHERS), ("en", TARGETS)):
        counts = counted(SOURCES + OTHERS + TARGETS if spec["joined"] else text, cut)
        # fairseq-preprocess pads dictionaries to a multiple of eight.
        counts += [(f"madeupword{i:04d}", 0) for i in range(-(len(counts) + 4) % 8)]
        write_dictionary(os.path.join(folder, f"dict.{language}.txt"), counts)
    source, target = (Dictionary.load(os.path.join(folder, f"dict.{language}.txt")) for language in ("de", "en"))
    args = argparse.Namespace(**{**BASE, **spec["settings"]})
    base_architecture(args)
    task = TranslationTask(args, source, target)
    torch.manual_seed(3)
    model = TransformerModel.build_model(args, task)
    draw(model)
    encode = lambda dictionary, line: dictionary.encode_line(  # noqa: E731
        " ".join(cut(line)), add_if_not_exist=False, append_eos=True).long()
    pairs = [(encode(source, s), encode(target, t)) for s, t in zip(SOURCES, TARGETS)]
    train(model, pairs, target)
    if spec.get("half"):
        for parameter in model.parameters():
            parameter.data = parameter.data.half().float()
    expected = expect(model, source, target, encode)
    save(model.half() if spec.get("half") else model, args, task, spec["saved"], os.path.join(folder, "checkpoint_best.pt"))
    return expected


def draw(model):
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.2 * noise if "layer_norm" in name and name.endswith("weight") else 0.3 * noise)
            if "layernorm_embedding.weight" in name:
                parameter.copy_(1 + 0.2 * noise)


def before(target):
    """What the decoder reads: the end in front."""
    return torch.cat([target[-1:], target[:-1]])


def logits_of(model, source, target):
    output, _ = model(source[None], torch.tensor([len(source)]), before(target)[None])
    return output[0]


def train(model, pairs, dictionary):
    """Random models seldom end a translation."""
    model.eval()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimiser.zero_grad()
        for source, target in pairs:
            torch.nn.functional.cross_entropy(logits_of(model, source, target), target, label_smoothing=0.1).backward()
        optimiser.step()


def search(model, target, source_ids, beam):
    generator = SequenceGenerator([model], target, beam_size=beam, max_len_a=0, max_len_b=LONGEST)
    best = generator.generate(
        [model], {"net_input": {"src_tokens": source_ids[None], "src_lengths": torch.tensor([len(source_ids)])}})[0][0]
    return best["tokens"].tolist(), round(best["score"].item(), 6)


def expect(model, source, target, encode):
    lines = []
    for text, translation in zip(SOURCES + OTHERS, TARGETS + TARGETS):
        source_ids, target_ids = encode(source, text), encode(target, translation)
        with torch.no_grad():
            scores = torch.log_softmax(logits_of(model, source_ids, target_ids).double(), -1)
            scores = scores[range(len(target_ids)), target_ids]
            greedy, _ = search(model, target, source_ids, 1)
            beam, score = search(model, target, source_ids, BEAM)
        lines.append({"source": text, "source_ids": source_ids.tolist(), "target_ids": target_ids[:-1].tolist(),
                      "log_probabilities": [round(x, 7) for x in scores.tolist()], "greedy": greedy, "beam": beam,
                      "beam_score": score})
    return lines


def save(model, args, task, saved, path):
    configuration = convert_namespace_to_omegaconf(args)
    state = {
        "args": args if saved == "args" else None,
        "cfg": {"args": None, "objects": configuration,
                "cfg": OmegaConf.to_container(configuration, resolve=True, enum_to_str=True)}[saved],
        "model": model.state_dict(),
        "criterion": None,
        "optimizer_history": [{"criterion_name": "CrossEntropyCriterion", "optimizer_name": "FairseqAdam",
                               "lr_scheduler_state": {"best": None}, "num_updates": STEPS}],
        "task_state": {},
        "extra_state": {"epoch": 1, "val_loss": 1.5, "metrics": []},
        "last_optimizer_state": {"state": {0: {"step": STEPS, "exp_avg": torch.zeros(3)}}, "param_groups": []},
    }
    checkpoint_utils.torch_persistent_save(state, path)


def main():
    root = sys.argv[2]
    for family in sys.argv[3:] or FAMILIES:
        folder = os.path.join(root, family)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        lines = make(family, folder)
        with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
            json.dump({"beam": BEAM, "lines": lines}, file, indent=0, ensure_ascii=False)
            file.write("\n")
        print(family, sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)),
              [len(line["greedy"]) for line in lines])


if __name__ == "__main__":
    main()
