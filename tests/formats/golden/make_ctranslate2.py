"""Makes small random models with CTranslate2's own converters, and what CTranslate2 translates and scores with them.

    python3 make_ctranslate2.py    # ctranslate2 4.8.5, transformers 4.44, torch, sentencepiece 0.2; after make_marian.py

  opus-TYPE     MarianMT of transformers (post-norm, swish, starts from zeros, positions of transformers), converted in every type that
                the converter knows; what is quantised is computed in float32 from the quantised weights, as an import has them
  marian        ../marian/opus by the converter for Marian
  specification everything else that a TransformerSpec can say of what models here have: pre-norm, norms on embeddings, SwiGLU, learned
                positions, two vocabularies, a projection in front of the output matrix, alignment heads, no biases
  old-VERSION   opus-int16 rewritten for the binary versions 2 to 5; the library must translate the same with each
"""
import io
import json
import pathlib
import shutil
import struct
import tempfile

import ctranslate2
import numpy as np
import sentencepiece
import torch
import transformers
from ctranslate2.specs import common_spec, transformer_spec

HERE = pathlib.Path(__file__).parent / "ctranslate2"
MARIAN = pathlib.Path(__file__).parent / "marian"
TYPES = ["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]
TEXT = ["a man is riding a bike", "two dogs run in the snow", "a woman reads the book", "the man sleeps", "two women ride bikes"]
SOURCES = ["a man reads", "two dogs sleep in the snow", "the woman is riding a bike and a dog runs"]
LONGEST = 24


def fresh(name):
    shutil.rmtree(HERE / name, ignore_errors=True)
    return HERE / name


def expectation(folder, sources, seed=1):
    """Greedy and beam translations, and scores of random targets; sources are pieces without what the converter's model adds."""
    translator = ctranslate2.Translator(str(folder), compute_type="float32")
    names = [name for name in ("shared", "target") if (folder / f"{name}_vocabulary.json").exists()]
    vocabulary = json.loads((folder / f"{names[0]}_vocabulary.json").read_text())
    random = np.random.RandomState(seed)
    cases = []
    for source in sources:
        targets = [vocabulary[i] for i in random.randint(3, len(vocabulary), 5)]
        scored = translator.score_batch([source], [targets])[0]
        greedy = translator.translate_batch([source], beam_size=1, max_decoding_length=LONGEST, return_scores=True)[0]
        beam = translator.translate_batch([source], beam_size=4, max_decoding_length=LONGEST, return_scores=True)[0]
        cases.append({"source": source, "target": targets, "log_probabilities": scored.log_probs, "greedy": greedy.hypotheses[0],
                      "beam": beam.hypotheses[0], "beam_score": beam.scores[0]})
    return cases


def spm(path, seed):
    model = io.BytesIO()
    text = [" ".join(np.random.RandomState(seed).permutation(line.split())) for line in TEXT]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text * 3), model_writer=model, vocab_size=40, bos_id=-1, eos_id=0, unk_id=1,
                                             normalization_rule_name="identity", hard_vocab_limit=False, minloglevel=2)
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


class Converter(ctranslate2.converters.TransformersConverter):
    """For a transformers that does not know yet what the converter calls a type."""

    def load_model(self, model_class, model_name_or_path, **options):
        options["torch_dtype"] = options.pop("dtype", torch.float32)
        return super().load_model(model_class, model_name_or_path, **options)


def opus(expected):
    made = pathlib.Path(tempfile.mkdtemp())
    models = [spm(made / f"{side}.spm", seed) for seed, side in enumerate(("source", "target"))]
    pieces = ["</s>", "<unk>"] + sorted({model.id_to_piece(i) for model in models for i in range(2, model.get_piece_size())}) + ["<pad>"]
    (made / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    size = len(pieces)
    config = transformers.MarianConfig(vocab_size=size, d_model=8, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
                                       decoder_attention_heads=2, encoder_ffn_dim=12, decoder_ffn_dim=12, activation_function="swish",
                                       max_position_embeddings=48, scale_embedding=True, pad_token_id=size - 1, eos_token_id=0,
                                       forced_eos_token_id=None, decoder_start_token_id=size - 1, init_std=0.6)
    torch.manual_seed(2)
    model = transformers.MarianMTModel(config)
    model.final_logits_bias = torch.randn(1, size) * 0.3
    model.final_logits_bias[0, 0] += 3  # so that some translations end
    model.save_pretrained(made)
    transformers.MarianTokenizer(str(made / "source.spm"), str(made / "target.spm"), str(made / "vocab.json")).save_pretrained(made)
    for name in TYPES:
        folder = fresh(f"opus-{name}")
        Converter(str(made), copy_files=["source.spm", "target.spm"]).convert(str(folder), quantization=name)
        sources = [models[0].encode(text, out_type=str) + ["</s>"] for text in SOURCES]
        cases = expectation(folder, sources)
        for case, text in zip(cases, SOURCES):
            case["line"] = text
            case["text"] = models[1].decode(case["greedy"])
        expected[folder.name] = cases
    shutil.rmtree(made)


def marian(expected):
    folder = fresh("marian")
    vocabulary = str(MARIAN / "opus" / "opus.vocab.yml")
    ctranslate2.converters.MarianConverter(str(MARIAN / "opus" / "model.npz"), [vocabulary, vocabulary]).convert(str(folder), quantization="float16")
    model = sentencepiece.SentencePieceProcessor(model_file=str(MARIAN / "opus" / "source.spm"))
    expected["marian"] = expectation(folder, [model.encode(text, out_type=str) for text in SOURCES])


def random_values(spec, random):
    def fill(scope, name, shape, scale=None):
        setattr(scope, name, (random.randn(*shape) * (scale or 1.2 / np.sqrt(shape[-1]))).astype(np.float32))

    d, inner, source, target, width, positions = 8, 12, 21, 19, 6, 32

    def norm(scope):
        scope.gamma = (1 + 0.2 * random.randn(d)).astype(np.float32)
        fill(scope, "beta", (d,), 0.1)

    def linear(scope, outputs, inputs, bias=True):
        fill(scope, "weight", (outputs, inputs))
        if bias:
            fill(scope, "bias", (outputs,), 0.1)

    for side, stack, size in (("encoder", spec.encoder, source), ("decoder", spec.decoder, target)):
        fill(stack.embeddings[0] if side == "encoder" else stack.embeddings, "weight", (size, d), 0.5)
        fill(stack.position_encodings, "encodings", (positions, d), 0.3)
        norm(stack.layernorm_embedding)
        norm(stack.layer_norm)
        for layer in stack.layer:
            norm(layer.self_attention.layer_norm)
            linear(layer.self_attention.linear[0], 3 * d, d)
            linear(layer.self_attention.linear[1], d, d, bias=False)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, inner, d)
            linear(layer.ffn.linear_0_noact, inner, d)
            linear(layer.ffn.linear_1, d, inner)
            if side == "decoder":
                norm(layer.attention.layer_norm)
                for part, outputs in zip(layer.attention.linear, (d, 2 * d, d)):
                    linear(part, outputs, d)
    fill(spec.decoder.project_out, "weight", (width, d))
    del spec.decoder.project_in
    linear(spec.decoder.projection, target, width)


def specification(expected):
    random = np.random.RandomState(3)
    common = {"pre_norm": True, "activation": common_spec.Activation.SWISH, "ffn_glu": True, "layernorm_embedding": True}
    encoder = transformer_spec.TransformerEncoderSpec(2, 2, **common)
    decoder = transformer_spec.TransformerDecoderSpec(1, 2, **common, alignment_layer=0, alignment_heads=2, project_in_out=True)
    encoder.scale_embeddings = decoder.scale_embeddings = False
    spec = transformer_spec.TransformerSpec(encoder, decoder)
    random_values(spec, random)
    words = ["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(18)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words[:3] + [f"v{i}" for i in range(16)])
    spec.config.add_source_eos = True
    spec.config.decoder_start_token = "</s>"
    spec.config.layer_norm_epsilon = 1e-6
    spec.validate()
    spec.optimize()
    folder = fresh("specification")
    folder.mkdir(parents=True)
    spec.save(str(folder))
    expected["specification"] = expectation(folder, [words[3:9], words[12:14], ["w3", "nothing", "w5"]])


class Bytes:
    def __init__(self, content):
        self.content, self.place = content, 0

    def take(self, count):
        self.place += count
        return self.content[self.place - count:self.place]

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize(code)))[0]

    def name(self):
        return self.take(self.number("H"))[:-1].decode()


def old(expected):
    """As model_spec.py wrote them: before 6 what config.json says is in arrays, before 4 arrays have no type, before 3 there are no aliases."""
    source = HERE / "opus-int16"
    data = Bytes((source / "model.bin").read_bytes())
    assert data.number("I") == 6
    spec, revision, arrays = data.name(), data.number("I"), {}
    for _ in range(data.number("I")):
        name = data.name()
        shape = [data.number("I") for _ in range(data.number("B"))]
        kind, size = data.number("B"), data.number("I")
        arrays[name] = (shape, kind, data.take(size))
    aliases = {data.name(): data.name() for _ in range(data.number("I"))}
    config = json.loads((source / "config.json").read_text())
    settings = {"unk_token": config["unk_token"], "bos_token": config["bos_token"], "eos_token": config["eos_token"]}
    old_arrays = arrays | {name: ([len(text)], 1, text.encode()) for name, text in settings.items()}
    for name, value in (("with_source_bos", False), ("with_source_eos", False), ("with_target_bos", False), ("user_decoder_start_tokens", False)):
        old_arrays[name] = ([], 1, struct.pack("b", value))
    widths = {0: 4, 1: 1, 2: 2}

    def string(text):
        return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"

    for version in (2, 3, 4, 5):
        written = dict(old_arrays)
        if version == 2:
            for alias, name in aliases.items():
                written[alias] = written[name]
                if name + "_scale" in written:
                    written[alias + "_scale"] = written[name + "_scale"]
        out = struct.pack("<I", version) + string(spec) + struct.pack("<II", revision, len(written))
        for name, (shape, kind, values) in sorted(written.items()):
            out += string(name) + struct.pack(f"<B{len(shape)}I", len(shape), *shape)
            out += struct.pack("<BI", kind, len(values)) if version >= 4 else struct.pack("<BI", widths[kind], len(values) // widths[kind])
            out += values
        if version >= 3:
            out += struct.pack("<I", len(aliases)) + b"".join(string(alias) + string(name) for alias, name in aliases.items())
        folder = fresh(f"old-{version}")
        folder.mkdir(parents=True)
        (folder / "model.bin").write_bytes(out)
        shutil.copy(source / "shared_vocabulary.json", folder)
        (folder / "shared_vocabulary.txt").write_text("\n".join(json.loads((source / "shared_vocabulary.json").read_text())) + "\n")
        cases = expectation(folder, [case["source"] for case in expected["opus-int16"]])
        assert [case["beam"] for case in cases] == [case["beam"] for case in expected["opus-int16"]]
        (folder / "shared_vocabulary.json").unlink()
    for version in (3, 5):  # the library takes them; two are enough to keep
        shutil.rmtree(HERE / f"old-{version}")


def main():
    expected = {}
    opus(expected)
    marian(expected)
    specification(expected)
    old(expected)
    for name in ("float16", "int8_bfloat16"):  # of each combination of readers one is enough
        shutil.rmtree(HERE / f"opus-{name}")
        del expected[f"opus-{name}"]
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
