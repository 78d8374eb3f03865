"""Writes small random models in Marian's files, and what Marian's formulas make of them.

    python3 make_marian.py    # numpy 1.26, sentencepiece 0.2; with torch and transformers 4.44 the check against MarianMT runs, too

check_marian.py lets Marian itself score these models. `Reference` computes in double precision what marian-dev's src/models/transformer.h, src/rnn/cells.h
(SSRU) and src/layers/embedding.cpp say, in NumPy, one sentence at a time; the model `opus` is also converted by transformers' own
convert_marian_to_pytorch, whose MarianMT, given Marian's positions and its 1e-6 in norms (transformers has 1e-5 and other wave lengths), must
give the same log probabilities and the same greedy and beam translations. The .bin files are laid out as src/common/binary.cpp reads them.
"""
import io
import json
import pathlib
import struct
import sys

import numpy as np
import sentencepiece

HERE = pathlib.Path(__file__).parent / "marian"
TEXT = ["a man is riding a bike", "two dogs run in the snow", "a woman reads the book", "the man sleeps", "two women ride bikes",
        "a dog reads a book in the snow", "the bike is in the snow", "dogs and women run", "a man and a dog sleep"]
SOURCES = ["a man reads", "two dogs sleep in the snow", "the woman is riding a bike and a dog runs"]


def save(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def spm(path, size, seed):
    """A SentencePiece model as Marian trains them: end 0, unknown 1, no beginning."""
    text = [" ".join(np.random.RandomState(seed).permutation(line.split())) for line in TEXT]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text * 3), model_writer=model, vocab_size=size, bos_id=-1, eos_id=0, unk_id=1,
                                             normalization_rule_name="identity", hard_vocab_limit=False, minloglevel=2)
    save(path, model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def pieces_of(model):
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


def options(**own):
    plain = {
        "bert-train-type-embeddings": True, "bert-type-vocab-size": 2, "dec-cell": "gru", "dec-cell-base-depth": 2, "dec-cell-high-depth": 1,
        "dec-depth": 2, "dim-emb": 8, "dim-rnn": 1024, "enc-cell": "gru", "enc-cell-depth": 1, "enc-depth": 1, "enc-type": "bidirectional",
        "input-types": [], "layer-normalization": False, "lemma-dim-emb": 0, "output-omit-bias": False, "right-left": False, "skip": False,
        "tied-embeddings": False, "tied-embeddings-all": True, "tied-embeddings-src": False, "transformer-aan-activation": "swish",
        "transformer-aan-depth": 2, "transformer-aan-nogate": False, "transformer-decoder-autoreg": "self-attention", "transformer-dim-aan": 2048,
        "transformer-dim-ffn": 12, "transformer-ffn-activation": "swish", "transformer-ffn-depth": 2, "transformer-guided-alignment-layer": "last",
        "transformer-heads": 2, "transformer-no-projection": False, "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": "", "transformer-preprocess": "", "transformer-tied-layers": [],
        "transformer-train-position-embeddings": False, "type": "transformer", "ulr": False, "ulr-dim-emb": 0, "ulr-trainable-transformation": False,
        "version": "v1.12.0 65bf82ff 2023-02-21 09:56:29 -0800"}
    return plain | own


def as_yaml(settings):
    lines = []
    for key, value in settings.items():
        if isinstance(value, list):
            lines += [f"{key}:" + ("" if value else " []")] + [f"  - {item}" for item in value]
        else:
            text = str(value).lower() if isinstance(value, bool) else '""' if value == "" else str(value)
            lines.append(f"{key}: {text}")
    return "\n".join(lines) + "\n"


def weights(settings, seed):
    """Random arrays under the names of transformer.h, in the order in which a graph would make them."""
    random = np.random.RandomState(seed)
    d, ff = settings["dim-emb"], settings["transformer-dim-ffn"]
    source, target = settings["dim-vocabs"]
    arrays = {}

    def put(name, *shape, scale=None):
        arrays[name] = (random.randn(*shape) * (scale or 1.2 / np.sqrt(shape[0]))).astype(np.float32)

    def norm(prefix, suffix=""):
        arrays[f"{prefix}_ln_scale{suffix}"] = (1 + 0.2 * random.randn(1, d)).astype(np.float32)
        put(f"{prefix}_ln_bias{suffix}", 1, d, scale=0.1)

    def norm_of(prefix, post_prefix):
        if "n" in settings["transformer-preprocess"]:
            norm(prefix, "_pre")
        if "n" in settings["transformer-postprocess"]:
            norm(post_prefix)

    def attention(prefix):
        for part in "qkvo":
            put(f"{prefix}_W{part}", d, d)
            put(f"{prefix}_b{part}", 1, d, scale=0.1)
        norm_of(prefix + "_Wo", prefix + "_Wo")

    def feed_forward(prefix):
        for number, shape in (("1", (d, ff)), ("2", (ff, d))):
            put(f"{prefix}_W{number}", *shape)
            put(f"{prefix}_b{number}", 1, shape[1], scale=0.1)
        norm_of(prefix + "_ffn", prefix + "_ffn")

    if settings["tied-embeddings-all"] or settings["tied-embeddings-src"]:
        put("Wemb", source, d, scale=0.4)
    else:
        put("encoder_Wemb", source, d, scale=0.4)
        put("decoder_Wemb", target, d, scale=0.4)
    for side, depth in (("encoder", settings["enc-depth"]), ("decoder", settings["dec-depth"])):
        if "n" in settings["transformer-postprocess-emb"]:
            norm(f"{side}_emb", "_pre")
        numbers = range(1, depth + 1) if side == "encoder" else sorted(set(settings["transformer-tied-layers"])) or range(1, depth + 1)
        for number in numbers:
            prefix = f"{side}_l{number}"
            if side == "decoder" and settings["transformer-decoder-autoreg"] == "rnn":
                put(f"{prefix}_rnn_W", d, d)
                put(f"{prefix}_rnn_Wf", d, d)
                put(f"{prefix}_rnn_bf", 1, d, scale=0.3)
                norm_of(f"{prefix}_rnn", f"{prefix}_rnn_ffn")
            else:
                attention(f"{prefix}_self")
            if side == "decoder":
                attention(f"{prefix}_context")
            feed_forward(f"{prefix}_ffn")
        if settings["transformer-postprocess-top"] == "n":
            norm(f"{side}_top")
    if not (settings["tied-embeddings-all"] or settings["tied-embeddings"]):
        put("decoder_ff_logit_out_Wt", target, d, scale=0.4)
    if not settings["output-omit-bias"]:
        put("decoder_ff_logit_out_b", 1, target, scale=0.3)
    return arrays


class Reference:
    """Marian's Transformer in double precision."""

    def __init__(self, settings, arrays):
        self.settings = settings
        self.arrays = {name: array.astype(np.float64) for name, array in arrays.items()}
        self.heads = settings["transformer-heads"]

    def positions(self, embedded):
        length, d = embedded.shape
        scales = d // 2
        angles = np.arange(length)[:, None] * np.exp(np.arange(scales) * -(np.log(10000) / (scales - 1)))[None, :]
        return np.sqrt(d) * embedded + np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    def norm(self, x, prefix, suffix=""):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred ** 2).mean(axis=-1, keepdims=True)
        return centred / np.sqrt(variance + 1e-6) * self.arrays[f"{prefix}_ln_scale{suffix}"] + self.arrays[f"{prefix}_ln_bias{suffix}"]

    def process(self, operations, x, prefix, suffix="", before=None):
        for operation in operations:
            if operation == "n":
                x = self.norm(x, prefix, suffix)
            elif operation == "a":
                x = x + before
        return x

    def affine(self, x, prefix, name):
        return x @ self.arrays[f"{prefix}_W{name}"] + self.arrays[f"{prefix}_b{name}"]

    def attention(self, x, memory, prefix, causal):
        pre = self.process(self.settings["transformer-preprocess"], x, prefix + "_Wo", "_pre")
        memory = pre if memory is None else memory
        q, k, v = self.affine(pre, prefix, "q"), self.affine(memory, prefix, "k"), self.affine(memory, prefix, "v")
        width = q.shape[1] // self.heads
        parts = []
        for head in range(self.heads):
            columns = slice(head * width, (head + 1) * width)
            scores = q[:, columns] @ k[:, columns].T / np.sqrt(width)
            if causal:
                scores = np.where(np.tril(np.ones_like(scores)) > 0, scores, -1e9)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            parts.append(shares / shares.sum(axis=1, keepdims=True) @ v[:, columns])
        out = self.affine(np.concatenate(parts, axis=1), prefix, "o")
        return self.process(self.settings["transformer-postprocess"], out, prefix + "_Wo", "", x)

    def recurrent(self, x, prefix):
        pre = self.process(self.settings["transformer-preprocess"], x, prefix, "_pre")
        gate = 1 / (1 + np.exp(-self.affine(pre, prefix, "f")))
        candidate = pre @ self.arrays[f"{prefix}_W"]
        cell, rows = np.zeros(x.shape[1]), []
        for t in range(len(x)):
            cell = gate[t] * cell + (1 - gate[t]) * candidate[t]
            rows.append(np.maximum(cell, 0))
        return self.process(self.settings["transformer-postprocess"], np.array(rows), prefix + "_ffn", "", x)

    def feed_forward(self, x, prefix):
        pre = self.process(self.settings["transformer-preprocess"], x, prefix + "_ffn", "_pre")
        inner = self.affine(pre, prefix, "1")
        inner = np.maximum(inner, 0) if self.settings["transformer-ffn-activation"] == "relu" else inner / (1 + np.exp(-inner))
        return self.process(self.settings["transformer-postprocess"], self.affine(inner, prefix, "2"), prefix + "_ffn", "", x)

    def stack(self, x, side, memory):
        settings = self.settings
        x = self.process(settings["transformer-postprocess-emb"], self.positions(x), f"{side}_emb", "_pre")
        depth = settings["enc-depth"] if side == "encoder" else settings["dec-depth"]
        numbers = settings["transformer-tied-layers"] if side == "decoder" else []
        for number in numbers or range(1, depth + 1):
            prefix = f"{side}_l{number}"
            if side == "decoder" and settings["transformer-decoder-autoreg"] == "rnn":
                x = self.recurrent(x, f"{prefix}_rnn")
            else:
                x = self.attention(x, None, f"{prefix}_self", side == "decoder")
            if side == "decoder":
                x = self.attention(x, memory, f"{prefix}_context", False)
            x = self.feed_forward(x, f"{prefix}_ffn")
        return self.process(settings["transformer-postprocess-top"], x, f"{side}_top")

    def encode(self, source):
        table = self.arrays["Wemb"] if "Wemb" in self.arrays else self.arrays["encoder_Wemb"]
        return self.stack(table[source], "encoder", None)

    def log_probabilities(self, memory, target):
        """Of each next token: row t is what follows target[:t]."""
        table = self.arrays["Wemb"] if "Wemb" in self.arrays else self.arrays["decoder_Wemb"]
        x = np.concatenate([np.zeros((1, table.shape[1])), table[target]])
        states = self.stack(x, "decoder", memory)
        output = self.arrays.get("decoder_ff_logit_out_Wt", table)
        logits = states @ output.T + self.arrays.get("decoder_ff_logit_out_b", 0)
        top = logits.max(axis=1, keepdims=True)
        return logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))

    def greedy(self, source, longest, end, unknown):
        memory, target = self.encode(source), []
        while len(target) < longest:
            row = self.log_probabilities(memory, target)[-1]
            row[unknown] = -np.inf
            best = int(row.argmax())
            if best == end:
                break
            target.append(best)
        return target


def expectation(reference, sources, end, unknown, seed):
    """Log probabilities of random targets, and greedy translations, of which the search allows twice the source and ten more."""
    random = np.random.RandomState(seed)
    cases = []
    size = reference.settings["dim-vocabs"][1]
    for source in sources:
        target = [int(i) for i in random.randint(2, size, 5)]
        rows = reference.log_probabilities(reference.encode(source), target)
        cases.append({"source": source, "target": target, "log_probabilities": [float(rows[t][token]) for t, token in enumerate(target + [end])],
                      "greedy": reference.greedy(source, 2 * len(source) + 10, end, unknown)})
    return cases


FLOAT32, INT8, INTGEMM8, INTGEMM16, BERGAMOT8 = 0x404, 0x101, 0x10001, 0x10002, 0x4101


def save_bin(path, arrays, settings, kind=FLOAT32, quantise_embeddings=False, calibrated=False):
    """marian-conv's file; returns the values that it holds. Integers are of the matrix turned (but Wemb), with the multiplier behind."""
    items, held = [], {}
    for name, array in arrays.items():
        is_weight = name.rfind("_W") in (len(name) - 3, len(name) - 2) or (quantise_embeddings and "Wemb" in name)
        if kind == FLOAT32 or not is_weight:
            items.append((name, FLOAT32, array.shape, array.tobytes()))
            held[name] = array
            continue
        multiplier = np.float32(1024) if kind == INTGEMM16 else np.float32(127) / np.abs(array).max()
        integers = np.clip(np.rint(array * multiplier), -127 if kind != INTGEMM16 else -32768, 127 if kind != INTGEMM16 else 32767)
        integers = integers.astype(np.int16 if kind == INTGEMM16 else np.int8)
        held[name] = integers.astype(np.float32) * (np.float32(1) / multiplier)
        data = integers if "Wemb" in name else integers.T
        items.append((name, kind, array.shape, np.ascontiguousarray(data).tobytes() + multiplier.tobytes()))
        if calibrated:
            items.append((name + "_QuantMultA", FLOAT32, (1, 1), np.float32(31.5).tobytes()))
    text = as_yaml(settings).encode() + b"\0"
    items.append(("special:model.yml", INT8, (len(text),), text))
    out = struct.pack("<2Q", 1, len(items))
    padded = [data + bytes(-len(data) % 256) for _, _, _, data in items]
    for (name, code, shape, _), data in zip(items, padded):
        out += struct.pack("<4Q", len(name) + 1, code, len(shape), len(data))
    out += b"".join(name.encode() + b"\0" for name, _, _, _ in items)
    out += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    place = len(out) + 8
    out += struct.pack("<Q", (place // 256 + 1) * 256 - place) + bytes((place // 256 + 1) * 256 - place)
    save(path, out + b"".join(padded))
    return held


def npz_arrays(arrays, settings):
    text = np.frombuffer(as_yaml(settings).encode() + b"\0", dtype=np.int8)
    return arrays | {"special:model.yml": text}


def check_with_transformers(folder, settings, arrays, sources, reference, cases):
    try:
        import torch
        from transformers.models.marian import convert_marian_to_pytorch
    except ImportError:
        return print("no transformers: opus is not compared with MarianMT")
    import shutil
    import tempfile
    copy = pathlib.Path(tempfile.mkdtemp())
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    state = convert_marian_to_pytorch.OpusState(copy)
    model = state.load_marian_model().eval()
    positions = torch.tensor(reference.positions(np.zeros((512, settings["dim-emb"]))), dtype=torch.float32)
    for side in (model.model.encoder, model.model.decoder):
        side.embed_positions = torch.nn.Embedding(512, settings["dim-emb"])
        side.embed_positions.weight.data = positions
        side.embed_positions.forward = lambda shape, past=0, table=side.embed_positions: torch.nn.functional.embedding(
            torch.arange(past, past + shape[1]), table.weight)
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-6
    for case in cases:
        source = torch.tensor([case["source"]])
        decoder = torch.tensor([[model.config.pad_token_id] + case["target"]])
        with torch.no_grad():
            logits = model(input_ids=source, decoder_input_ids=decoder).logits[0, :, :-1]  # without <pad>, which generate() bans
            found = torch.log_softmax(logits, dim=-1)[torch.arange(len(case["target"]) + 1), torch.tensor(case["target"] + [0])]
            assert np.allclose(found, case["log_probabilities"], atol=2e-5), (found, case["log_probabilities"])
            tokens = model.generate(source, num_beams=1, max_length=2 * len(case["source"]) + 11, bad_words_ids=[[model.config.pad_token_id], [1]],
                                    forced_eos_token_id=None)
        greedy = [int(i) for i in tokens[0][1:] if int(i) != 0]
        assert greedy == case["greedy"], (greedy, case["greedy"])
    print("MarianMT of transformers agrees")
    shutil.rmtree(copy)


def opus():
    """As OPUS-MT publishes its models: two SentencePiece models and one list of all pieces."""
    folder = HERE / "opus"
    folder.mkdir(parents=True, exist_ok=True)
    source, target = spm(folder / "source.spm", 48, 1), spm(folder / "target.spm", 44, 2)
    listed = ["</s>", "<unk>"] + sorted(set(pieces_of(source) + pieces_of(target)) - {"</s>", "<unk>"}) + [">>deu<<", '"', "~", "12"]
    save(folder / "opus.vocab.yml", "".join(f"{json.dumps(piece, ensure_ascii=False)}: {i}\n" for i, piece in enumerate(listed)))
    settings = options(**{"dim-vocabs": [len(listed), len(listed)]})
    arrays = weights(settings, 3)
    np.savez(folder / "model.npz", **npz_arrays(arrays, settings))
    save(folder / "decoder.yml", "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - opus.vocab.yml\n  - opus.vocab.yml\nbeam-size: 6\n"
         "normalize: 1\nword-penalty: 0\nmini-batch: 1\nmaxi-batch: 1\nmaxi-batch-sort: src\n")
    ids = {piece: i for i, piece in enumerate(listed)}
    sources = [[ids.get(piece, 1) for piece in source.encode(text, out_type=str)] + [0] for text in SOURCES]
    reference = Reference(settings, arrays)
    cases = expectation(reference, sources, 0, 1, 4)
    check_with_transformers(folder, settings, arrays, sources, reference, cases)
    for case in cases:
        case["text"] = "".join(listed[i] for i in case["greedy"]).replace("\u2581", " ").strip()
    # The same model in Marian's own binary format.
    save_bin(folder / "binary" / "model.bin", arrays, settings)
    save_bin(folder / "int16" / "model.bin", arrays, settings, INTGEMM16)
    return {"opus": cases}


def browser():
    """As browsers have them: SSRU, tied layers, one SentencePiece model, int8 with its embeddings and calibration, a shortlist."""
    folder = HERE / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = spm(folder / "vocab.deen.spm", 50, 5)
    size = vocabulary.get_piece_size()
    settings = options(**{"dim-vocabs": [size, size], "transformer-decoder-autoreg": "rnn", "dec-cell": "ssru", "transformer-tied-layers": [1, 1],
                          "transformer-ffn-activation": "relu"})
    held = save_bin(folder / "model.deen.intgemm.alphas.bin", weights(settings, 6), settings, BERGAMOT8, True, True)
    sources = [vocabulary.encode(text) + [0] for text in SOURCES]
    cases = expectation(Reference(settings, held), sources, 0, 1, 7)
    for case, text in zip(cases, SOURCES):
        case["text"] = vocabulary.decode(case["greedy"])
    # All the pieces, each with all: what a search finds is what it finds without.
    pieces = pieces_of(vocabulary)
    save(folder / "lex.s2t", "".join(f"{target} {source} {1 / size:.6f}\n" for source in pieces for target in pieces))
    save(folder / "config.yml", "relative-paths: true\nmodels: [model.deen.intgemm.alphas.bin]\nvocabs: [vocab.deen.spm, vocab.deen.spm]\n"
         f"shortlist: [lex.s2t, {size}, {size}]\nbeam-size: 1\nnormalize: 1.0\nword-penalty: 0\ngemm-precision: int8shiftAlphaAll\nskip-cost: true\n")
    return {"browser": cases}


def untied():
    """Everything else: norms in front, on embeddings and on top, nothing tied, no bias, lists of words, deflated."""
    folder = HERE / "untied"
    folder.mkdir(parents=True, exist_ok=True)
    words = sorted({word for line in TEXT for word in line.split()})
    source, target = ["</s>", "<unk>"] + words, ["</s>", "<unk>"] + words[::-1][:-3]
    for name, listed in (("source.vocab.yml", source), ("target.vocab.yml", target)):
        save(folder / name, "".join(f"{piece}: {i}\n" for i, piece in enumerate(listed)))
    settings = options(**{"dim-vocabs": [len(source), len(target)], "transformer-preprocess": "n", "transformer-postprocess": "da",
                          "transformer-postprocess-top": "n", "transformer-postprocess-emb": "nd", "tied-embeddings-all": False, "dec-depth": 1,
                          "output-omit-bias": True, "transformer-ffn-activation": "relu"})
    arrays = weights(settings, 8)
    np.savez_compressed(folder / "model.npz", **npz_arrays(arrays, settings))
    sources = [[source.index(word) if word in source else 1 for word in text.split()] + [0] for text in SOURCES]
    cases = expectation(Reference(settings, arrays), sources, 0, 1, 9)
    for case in cases:
        case["text"] = " ".join(target[i] for i in case["greedy"])
    return {"untied": cases}


def main():
    expected = opus() | browser() | untied()
    for cases in expected.values():
        for case, text in zip(cases, SOURCES):
            case["line"] = text
    save(HERE / "expected.json", json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
