"""Compares with Marian itself: the models of make_marian.py, and models that Dragoman has trained and exported.

    python3 check_marian.py DRAGOMAN    # the program; with pymarian 1.12.42 and numpy

Marian scores the golden targets as expected.json says, and translates what Dragoman has trained as Dragoman does: with SSRU, and with
self-attention and norms behind. With norms in front, Marian's search differs from its own scores, so only the scores are compared.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).parent / "marian"
LETTERS = "abcdefgh"
SHAPES = {"ssru": {"type": "ssru"}, "post": {"norm": "post", "final_norm": False}, "pre": {}}


def marian(what, *options):
    command = [sys.executable, "-m", "pymarian", what, *map(str, options), "--cpu-threads", "1", "--quiet"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def read_vocabulary(path):
    pairs = (line.rpartition(": ") for line in path.read_text().splitlines())
    return {int(number): json.loads(piece) if piece.startswith('"') else piece for piece, _, number in pairs}


def write_lines(path, lines):
    path.write_text("".join(line + "\n" for line in lines))


def near(name, ours, theirs):
    worst = max(abs(a - b) / abs(a) for a, b in zip(ours, theirs))
    print(f"{name}: {len(ours)} log probabilities differ by at most {worst:.1e} of their size")
    assert len(ours) == len(theirs) and worst < 1e-5, name


def check_golden(folder, name, cases, model, vocabularies):
    source, target = (folder / side for side in ("source", "target"))
    pieces = [read_vocabulary(path) for path in vocabularies]
    write_lines(source, (" ".join(pieces[0][i] for i in case["source"][:-1]) for case in cases))
    write_lines(target, (" ".join(pieces[1][i] for i in case["target"]) for case in cases))
    found = marian("score", "-m", model, "-v", *vocabularies, "-t", source, target)
    near(name, [sum(case["log_probabilities"]) for case in cases], [float(line.split()[0]) for line in found])


def check_trained(folder, program, name, keys):
    def dragoman(*command):
        return subprocess.run([program, *map(str, command)], check=True, capture_output=True, text=True, cwd=folder).stdout.splitlines()

    model = {"d_model": 32, "heads": 2, "feed_forward": 64, "encoder_layers": 2, "decoder_layers": 2, "decoder_start": "zeros",
             "output_bias": True, "positions": "sinusoidal-tensor2tensor", "layer_norm_epsilon": 1e-6} | keys
    configuration = {"output": name, "model": model, "data": {"train": {"source": "text", "target": "text"}, "tokenizer": "tokenizer.json"},
                     "training": {"updates": 200, "batch_tokens": 512, "schedule": {"learning_rate": 0.003, "warmup": 50}},
                     "validation": {"every": 0}, "checkpoint": {"every": 0}}
    (folder / "train.yml").write_text(json.dumps(configuration))
    plugin = ["--plugin", "ssru"] if keys.get("type") == "ssru" else []
    dragoman("train", "--quiet", "--config", "train.yml", *plugin)
    dragoman("convert", "--quiet", f"{name}/last", *plugin, "--to", "marian-npz", "--output", f"{name}-marian")
    files = ["-m", folder / f"{name}-marian/model.npz", "-v", *[folder / f"{name}-marian/vocab.yml"] * 2]
    fp32 = ["--quiet", "--model", f"{name}/last", "--compute", "fp32", *plugin]
    dragoman("encode", "--tokenizer", "tokenizer.json", "--input", "test", "--output", "test.pieces")
    scores = [float(line) for line in dragoman("score", *fp32, "test", "test")]
    near(name, scores, [float(line.split()[0]) for line in marian("score", *files, "-t", *[folder / "test.pieces"] * 2)])
    if name == "pre":
        return
    theirs = marian("decode", *files, "-i", folder / "test.pieces", "-b", 1, "--allow-unk", "--max-length-factor", 3)
    write_lines(folder / "theirs", theirs)
    theirs = dragoman("decode", "--tokenizer", "tokenizer.json", "--input", "theirs")
    ours = dragoman("translate", *fp32, "--decoder", "greedy", "--maximum-length-factor", 3, "--maximum-length-offset", 3, "test")
    same = sum(a == b for a, b in zip(ours, theirs))
    print(f"{name}: {same} of {len(ours)} translations are the same")
    assert len(ours) == len(theirs) and same >= 0.98 * len(ours), name


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    expected = json.loads((HERE / "expected.json").read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        opus, untied = HERE / "opus", HERE / "untied"
        check_golden(folder, "opus", expected["opus"], opus / "model.npz", [opus / "opus.vocab.yml"] * 2)
        # Marian does not read compressed files.
        with np.load(untied / "model.npz") as arrays:
            np.savez(folder / "untied.npz", **arrays)
        check_golden(folder, "untied", expected["untied"], folder / "untied.npz", [untied / f"{side}.vocab.yml" for side in ("source", "target")])
        draw = np.random.RandomState(1)
        lines = [" ".join(draw.choice(list(LETTERS), draw.randint(2, 9))) for _ in range(600)]
        write_lines(folder / "text", lines)
        write_lines(folder / "test", lines[:100])
        subprocess.run([program, "learn-bpe", "--quiet", "--input", "text", "--vocab-size", "300", "--output", "tokenizer.json"], check=True,
                       cwd=folder)
        for shape, keys in SHAPES.items():
            check_trained(folder, program, shape, keys)


if __name__ == "__main__":
    main()
