"""Ctrl-C ends long calls: KeyboardInterrupt comes soon, the call does not go on to its end, and nothing is left over."""

import json
import os
import random
import shutil
import signal
import struct
import threading
import time

import numpy as np
import pytest

import dragoman
from conftest import MODEL, TREE

#: The aim is 0.1; the rest is for machines that are busy with other tests.
MOST_SECONDS = 2.0
WORDS = [f"wort{i}" for i in range(1000)]


@pytest.fixture(autouse=True)
def ctrl_c():
    """Jobs in the background of a shell ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(call, after=0.3):
    """Send SIGINT during a call; return how long KeyboardInterrupt took, or None if the call came to its end."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        try:
            call()
        finally:
            timer.cancel()
            timer.join()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    return None


def check(call, *times, output=None):
    """Interrupt a call after some seconds; if it came to its end before, after fewer: a machine's speed varies."""
    for after in [*times, times[-1] / 4, times[-1] / 16]:
        if output is not None:
            shutil.rmtree(output, ignore_errors=True)
        seconds = interrupt(call, after)
        if seconds is not None:
            print(f"interrupted after {1000 * seconds:.0f} ms")
            assert seconds < MOST_SECONDS
            return
    pytest.fail("the call came to its end")


def check_part(call, part, output=None):
    """Interrupt a call after a part of the time that the whole takes. Nothing may be left of the `output`."""
    begin = time.monotonic()
    call()
    whole = time.monotonic() - begin
    check(call, part * whole, part * whole / 2, part * whole / 4, output=output)
    if output is not None:
        assert list(output.parent.iterdir()) == []


def sentences(count, words, seed=1):
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=words)) for _ in range(count)]


def long_line(words, seed):
    return " ".join(random.Random(seed).choices(WORDS[:200], k=words))


def evaluations():
    few, others = sentences(2000, 20), sentences(2000, 20, 2)
    many, other_many = sentences(2000, 300), sentences(2000, 300, 2)
    return {
        "ter": lambda: dragoman.evaluate(many, other_many, "ter"),
        "ter of one line": lambda: dragoman.evaluate([long_line(100_000, 1)], [long_line(100_000, 2)], "ter"),
        "chrf": lambda: dragoman.evaluate(many * 20, other_many * 20, "chrf"),
        "chrf of one line": lambda: dragoman.evaluate([long_line(500_000, 1)], [long_line(500_000, 2)], "chrf"),
        "bleu": lambda: dragoman.evaluate(many * 20, other_many * 20, "bleu"),
        "bootstrap": lambda: dragoman.evaluate(few, others, bootstrap=10_000_000),
        "paired bootstrap": lambda: dragoman.compare_systems([few, others], few, samples=10_000_000),
        "paired randomization": lambda: dragoman.compare_systems(
            [few, others], few, test="randomization", samples=10_000_000
        ),
        "pairwise": lambda: dragoman._core.bleu("13a", None, "exp", None, False, True, 4).pairwise(many * 5),
        "a segment": lambda: dragoman._core.ter(False, False, False, False).count_segment(
            long_line(100_000, 1), [long_line(100_000, 2)]
        ),
    }


@pytest.mark.parametrize("name", evaluations())
def test_evaluation(name):
    # Lines that are made by the call itself need time.
    call = evaluations()[name]
    check(call, 2 if "one line" in name or name == "a segment" else 0.3)


@pytest.fixture(scope="module")
def large_model(tmp_path_factory):
    """Multi30k's model, wider: some 70 million parameters."""
    wide = {128: 768, 256: 3072, 384: 3 * 768}
    folder = tmp_path_factory.mktemp("large") / "model"
    folder.mkdir()
    config = json.loads((MODEL / "config.json").read_text())
    config["model"].update(d_model=768, feed_forward=3072)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_bytes((MODEL / "tokenizer.json").read_bytes())
    with open(MODEL / "model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    header.pop("__metadata__", None)
    at, made = 0, {}
    for name, tensor in header.items():
        sizes = wide | {256: 2 * 768} if ".kv." in name else wide
        shape = [sizes.get(size, size) for size in tensor["shape"]]
        end = at + 4 * int(np.prod(shape))
        made[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(made).encode()
    text += b" " * (-len(text) % 8)
    block = np.random.default_rng(1).standard_normal(1 << 20).astype(np.float32) / 10
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for left in range(at // 4, 0, -len(block)):
            file.write(block[: min(left, len(block))].tobytes())
    yield folder
    (folder / "model.safetensors").unlink()


MODEL_CALLS = {
    "quantize": lambda model, to: dragoman.quantize(model, to),
    "quantize to bf16": lambda model, to: dragoman.quantize(model, to, type="bf16"),
    "export to CTranslate2": lambda model, to: dragoman.convert(model, to, to="ctranslate2"),
    "open": lambda model, to: dragoman.Model(model, threads=1),
    "open as int8": lambda model, to: dragoman.Model(model, threads=1, compute="int8"),
}


@pytest.mark.parametrize("part", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("name", MODEL_CALLS)
def test_models(large_model, tmp_path, name, part):
    check_part(lambda: MODEL_CALLS[name](large_model, tmp_path / "made"), part, tmp_path / "made")


@pytest.mark.parametrize("name", ["import", "open"])
def test_models_of_other_toolkits(large_model, tmp_path, name):
    (tmp_path / "out").mkdir()
    foreign, made = tmp_path / "foreign", tmp_path / "out" / "made"
    dragoman.convert(large_model, foreign, to="ctranslate2")
    calls = {"import": lambda: dragoman.convert(foreign, made), "open": lambda: dragoman.Model(foreign, threads=1)}
    for part in (0.1, 0.5):
        check_part(calls[name], part, made)


TOKENIZERS = {
    "bpe": MODEL / "tokenizer.json",
    "byte-level": TREE / "tests/tokenizer/golden/byte_level_plain.tokenizer.json",
    "unigram": TREE / "tests/tokenizer/golden/learned_unigram_plain.model",
}


@pytest.fixture(scope="module")
def long_texts():
    words = " ".join(sentences(2000, 100)) + " Über die Straße läuft ein Hund, 12,5 m weit. "
    return {"words": words * (60_000_000 // len(words)), "one word": "abcdefghijklmnopqrstuvwxyzäöüß" * 1_000_000}


@pytest.mark.parametrize("text", ["words", "one word"])
@pytest.mark.parametrize("method", ["encode", "encode_with_offsets", "tokenize", "encode_batch"])
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_encoding(long_texts, kind, method, text):
    tokenizer = dragoman.Tokenizer(TOKENIZERS[kind])
    whole = long_texts[text]
    call = getattr(tokenizer, method)
    for after in (0.1, 1):
        check(lambda: call([whole] if method == "encode_batch" else whole), after)


@pytest.fixture(scope="module")
def large_tokenizers(tmp_path_factory):
    """A file with 300,000 merges, and one with a million pieces of a unigram model."""
    folder = tmp_path_factory.mktemp("tokenizers")
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces, merges = list(letters), []
    for left in pieces:
        for right in letters:
            merges.append([left, right])
            pieces.append(left + right)
        if len(merges) >= 300_000:
            break
    common = {"version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None, "decoder": None}
    merged = {"type": "BPE", "vocab": {piece: id for id, piece in enumerate(pieces)}, "merges": merges}
    scored = {"type": "Unigram", "unk_id": 0, "vocab": [[f"piece{i}", -1.5] for i in range(1_000_000)]}
    for name, model in (("bpe", merged), ("unigram", scored)):
        split = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
        pre_tokenizer = split if name == "unigram" else {"type": "Whitespace"}
        (folder / f"{name}.json").write_text(json.dumps(common | {"pre_tokenizer": pre_tokenizer, "model": model}))
    return folder


@pytest.mark.parametrize("part", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_opening_of_a_tokenizer(large_tokenizers, kind, part):
    file = large_tokenizers / f"{kind}.json"
    content = file.read_bytes()
    check_part(lambda: dragoman.Tokenizer(file), part)
    check_part(lambda: dragoman.Tokenizer.from_bytes(content), part)
