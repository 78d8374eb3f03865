"""Makes small random models whose sides have vocabularies of their own, and adds what CTranslate2 makes of them to ctranslate2/expected.json.

    python3 -P make_ctranslate2_sides.py    # ctranslate2 4.8.5, numpy; after make_ctranslate2.py

  sides         <unk>, <s> and </s> have other ids in the source's vocabulary than in the target's
  unknown-last  OpenNMT-tf's order: <unk> is the last piece of each side, and the target has more pieces
  equal-tables  one table for both sides, whose rows are of other pieces on each side
  no-source-end sources have no end, as in models of OpenNMT-py
  old-1         the binary version 1, whose arrays have the names of OpenNMT-tf's variables
"""
import json
import pathlib
import shutil
import struct

import ctranslate2
import numpy as np
from ctranslate2.specs import transformer_spec

HERE = pathlib.Path(__file__).parent / "ctranslate2"
LONGEST = 24
WIDTH, HEADS, INNER = 16, 8, 12  # files of the version 1 have eight heads


def fresh(name):
    shutil.rmtree(HERE / name, ignore_errors=True)
    return HERE / name


def expectation(folder, sources, target, seed=1):
    translator = ctranslate2.Translator(str(folder), compute_type="float32")
    random = np.random.RandomState(seed)
    words = [piece for piece in target if not piece.startswith("<")]
    cases = []
    for source in sources:
        targets = [words[i] for i in random.randint(0, len(words), 5)]
        scored = translator.score_batch([source], [targets])[0]
        greedy = translator.translate_batch([source], beam_size=1, max_decoding_length=LONGEST, return_scores=True)[0]
        beam = translator.translate_batch([source], beam_size=4, max_decoding_length=LONGEST, return_scores=True)[0]
        cases.append({"source": source, "target": targets, "log_probabilities": scored.log_probs, "greedy": greedy.hypotheses[0],
                      "beam": beam.hypotheses[0], "beam_score": beam.scores[0]})
    return cases


def make_spec(source, target, seed, equal_tables=False):
    random = np.random.RandomState(seed)
    spec = transformer_spec.TransformerSpec.from_config((1, 1), HEADS, pre_norm=True)

    def fill(scope, name, shape, scale=None):
        setattr(scope, name, (random.randn(*shape) * (scale or 1.2 / np.sqrt(shape[-1]))).astype(np.float32))

    def norm(scope):
        scope.gamma = (1 + 0.2 * random.randn(WIDTH)).astype(np.float32)
        fill(scope, "beta", (WIDTH,), 0.1)

    def linear(scope, outputs, inputs):
        fill(scope, "weight", (outputs, inputs))
        fill(scope, "bias", (outputs,), 0.1)

    for side, stack, size in (("encoder", spec.encoder, len(source)), ("decoder", spec.decoder, len(target))):
        table = stack.embeddings[0] if side == "encoder" else stack.embeddings
        fill(table, "weight", (size, WIDTH), 0.5)
        norm(stack.layer_norm)
        for layer in stack.layer:
            norm(layer.self_attention.layer_norm)
            linear(layer.self_attention.linear[0], 3 * WIDTH, WIDTH)
            linear(layer.self_attention.linear[1], WIDTH, WIDTH)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, INNER, WIDTH)
            linear(layer.ffn.linear_1, WIDTH, INNER)
            if side == "decoder":
                norm(layer.attention.layer_norm)
                for part, outputs in zip(layer.attention.linear, (WIDTH, 2 * WIDTH, WIDTH)):
                    linear(part, outputs, WIDTH)
    linear(spec.decoder.projection, len(target), WIDTH)
    if equal_tables:
        spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight
        spec.decoder.projection.weight = spec.decoder.embeddings.weight
    # So that some translations end, and none repeats the start.
    spec.decoder.projection.bias[target.index("</s>")] += 2
    spec.decoder.projection.bias[target.index("<s>")] -= 5
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.add_source_eos = True
    spec.config.decoder_start_token = "<s>"
    spec.validate()
    return spec


def words(letter, count):
    return [f"{letter}{i}" for i in range(count)]


def save(name, spec):
    spec.optimize()
    folder = fresh(name)
    folder.mkdir(parents=True)
    spec.save(str(folder))
    return folder


def old_name(name):
    """The inverse of what the library does to names of the first revision."""
    side = name.split("/")[0]
    name = name.replace("embeddings_0/weight", "w_embs").replace("embeddings/weight", "w_embs")
    name = name.replace("self_attention", "multi_head" if side == "encoder" else "masked_multi_head").replace("/attention/", "/multi_head/")
    name = name.replace("layer_norm", "LayerNorm").replace("projection", "dense").replace("linear_0", "conv1d").replace("linear_", "conv1d_")
    if not name.endswith("w_embs"):
        name = name.replace("weight", "kernel")
    return f"transformer/{name}:0"


def save_old(name, spec, source, target):
    def string(text):
        return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"

    arrays = {old_name(key): value.numpy() for key, value in spec.variables(ordered=True) if value.numpy().dtype == np.float32 and value.numpy().size > 1}
    arrays["with_source_eos"] = np.int8(1)
    out = struct.pack("<II", 1, len(arrays))
    for key, value in arrays.items():
        value = np.asarray(value)
        out += string(key) + struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape) + struct.pack("<BI", value.itemsize, value.size) + value.tobytes()
    folder = fresh(name)
    folder.mkdir(parents=True)
    (folder / "model.bin").write_bytes(out)
    (folder / "source_vocabulary.txt").write_text("\n".join(source) + "\n")
    (folder / "target_vocabulary.txt").write_text("\n".join(target) + "\n")
    return folder


def main():
    path = HERE / "expected.json"
    expected = json.loads(path.read_text())
    sources = [words("w", 6), ["w3", "nothing", "w1"], ["w7", "w2", "w7", "w5", "w0"]]

    source, target = ["</s>", "w0", "<s>"] + words("w", 12)[1:] + ["<unk>"], ["<unk>", "<s>", "</s>"] + words("v", 13)
    expected["sides"] = expectation(save("sides", make_spec(source, target, 3)), sources, target)

    source, target = ["<blank>", "<s>", "</s>"] + words("w", 9) + ["<unk>"], ["<blank>", "<s>", "</s>"] + words("v", 14) + ["<unk>"]
    expected["unknown-last"] = expectation(save("unknown-last", make_spec(source, target, 4)), sources, target)

    source, target = ["<s>", "</s>", "<unk>"] + words("w", 12), ["<unk>", "</s>", "<s>"] + words("v", 12)
    expected["equal-tables"] = expectation(save("equal-tables", make_spec(source, target, 7, equal_tables=True)), sources, target)

    source, target = ["<unk>", "<s>", "</s>"] + words("w", 10), ["<unk>", "<s>", "</s>"] + words("v", 12)
    spec = make_spec(source, target, 10)
    spec.config.add_source_eos = False
    expected["no-source-end"] = expectation(save("no-source-end", spec), sources, target)

    source, target = ["<blank>", "<s>", "</s>"] + words("w", 9) + ["<unk>"], ["<blank>", "<s>", "</s>"] + words("v", 11) + ["<unk>"]
    expected["old-1"] = expectation(save_old("old-1", make_spec(source, target, 6), source, target), sources, target)
    path.write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
