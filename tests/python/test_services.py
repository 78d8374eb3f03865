"""Scores, embeddings, alignments, metrics, training and conversion give what the program gives."""

import json

import numpy as np
import pytest

import dragoman
from conftest import MODEL


@pytest.fixture(scope="module")
def pairs(german, translator):
    sources = german[:20]
    return sources, translator.translate(sources)


def test_scores_are_those_of_the_program(model, program, pairs, tmp_path):
    sources, targets = pairs
    (tmp_path / "s").write_text("\n".join(sources) + "\n")
    (tmp_path / "t").write_text("\n".join(targets) + "\n")
    words = ("score", "--model", MODEL, "--source", tmp_path / "s", "--target", tmp_path / "t")
    lines = program(*words, "--format", "jsonl", "--length-penalty", "gnmt").splitlines()
    scorer = dragoman.Scorer(model, length_penalty="gnmt")
    for found, line in zip(scorer.score_batch(sources, targets), lines):
        expected = json.loads(line)
        assert found.tokens == expected["tokens"]
        assert found.score == pytest.approx(expected["score"], rel=1e-6)
        np.testing.assert_allclose(found.token_scores, expected["token_log_probabilities"], rtol=1e-6)
    one = scorer.score(sources[0], targets[0])
    assert one.log_probability == pytest.approx(one.token_scores.sum())
    with pytest.raises(dragoman.InvalidArgumentError, match="1 sources and 2 targets"):
        scorer.score_batch(["a"], ["b", "c"])


def test_embeddings_are_those_of_the_program(model, program, german, tmp_path):
    lines = german[:10]
    (tmp_path / "in").write_text("\n".join(lines) + "\n")
    program("embed", "--model", MODEL, tmp_path / "in", "--format", "npy", "-o", tmp_path / "out.npy")
    embedder = dragoman.Embedder(model)
    np.testing.assert_allclose(embedder.embed_batch(lines), np.load(tmp_path / "out.npy"), rtol=1e-4, atol=1e-5)
    assert embedder.embed_batch([]).shape == (0, embedder.embed_batch(lines).shape[1])
    tokens, vectors = embedder.embed_tokens(lines[0])
    assert vectors.shape == (len(tokens), 128)
    np.testing.assert_allclose(vectors.mean(axis=0), embedder.embed(lines[0]), rtol=1e-4, atol=1e-5)


def test_alignments_are_those_of_the_program(model, program, pairs, tmp_path):
    sources, targets = pairs
    (tmp_path / "s").write_text("\n".join(sources) + "\n")
    (tmp_path / "t").write_text("\n".join(targets) + "\n")
    expected = program("align", "--model", MODEL, "--source", tmp_path / "s", "--target", tmp_path / "t").splitlines()
    aligner = dragoman.Aligner(model)
    assert [str(each) for each in aligner.align_batch(sources, targets)] == expected
    one = aligner.align(sources[0], targets[0])
    assert str(one) == expected[0] and one.source == sources[0].split()


@pytest.mark.parametrize("metric", ["bleu", "chrf", "chrf++", "ter"])
def test_metrics_are_those_of_the_program(program, pairs, tmp_path, metric):
    hypotheses = pairs[1]
    references = [line.replace("A ", "The ") for line in hypotheses]
    (tmp_path / "h").write_text("\n".join(hypotheses) + "\n")
    (tmp_path / "r").write_text("\n".join(references) + "\n")
    out = json.loads(program("evaluate", "-i", tmp_path / "h", "--reference", tmp_path / "r", "--metrics", metric, "--width", 12, "--json"))
    expected = out[0] if isinstance(out, list) else out
    score = dragoman.evaluate(hypotheses, references, metric)
    assert score.value == pytest.approx(expected["score"], abs=1e-9)
    assert score.signature in str(expected)


def test_metrics_take_options_and_resamples(pairs):
    hypotheses = pairs[1]
    lower = [line.lower() for line in hypotheses]
    assert dragoman.evaluate(hypotheses, lower).value < 100
    assert dragoman.evaluate(hypotheses, lower, lowercase=True).value == pytest.approx(100)
    assert dragoman.evaluate(hypotheses, [lower, hypotheses]).value == pytest.approx(100)
    score = dragoman.evaluate(hypotheses, lower, bootstrap=50)
    assert score.confidence[1] > 0 and "μ" in str(score) and "bs:50" in score.signature
    split = dragoman.evaluate(hypotheses, hypotheses, tokenize=("halves", lambda text: " ".join(text)))
    assert split.value == pytest.approx(100) and "tok:halves" in split.signature
    with pytest.raises(TypeError, match="bleu has no option 'lower'"):
        dragoman.evaluate(hypotheses, lower, lower=True)
    with pytest.raises(ValueError, match="there is no metric 'blue'"):
        dragoman.evaluate(hypotheses, lower, "blue")
    with pytest.raises(dragoman.InvalidArgumentError):
        dragoman.evaluate(hypotheses, lower[:-1])
    baseline, other = dragoman.compare_systems([lower, hypotheses], hypotheses, samples=100)
    assert baseline.p_value is None and other.p_value < 0.05 < other.score - baseline.score
    named = dragoman.compare_systems({"lower": lower, "same": hypotheses}, hypotheses, samples=100)
    assert named == {"lower": baseline, "same": other} and list(named) == ["lower", "same"]


def test_an_exception_of_a_tokenizer_is_raised(pairs):
    def broken(text):
        raise KeyError(text)

    with pytest.raises(KeyError):
        dragoman.evaluate(pairs[1], pairs[1], tokenize=("broken", broken))


@pytest.fixture()
def small_training(german, translator, tmp_path):
    sources = german[:60]
    (tmp_path / "t.de").write_text("\n".join(sources) + "\n")
    (tmp_path / "t.en").write_text("\n".join(translator.translate(sources)) + "\n")
    return {
        "output": str(tmp_path / "run"),
        "data": {
            "train": [{"source": str(tmp_path / "t.de"), "target": str(tmp_path / "t.en")}],
            "tokenizer": str(MODEL / "tokenizer.json"),
        },
        "model": {"d_model": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1},
        "training": {"updates": 5, "batch_tokens": 256},
    }


def test_training_has_the_bytes_of_the_program(small_training, program, tmp_path):
    seen, said = [], []
    result = dragoman.train(small_training, progress=seen.append, log=lambda level, message: said.append((level, message)))
    assert result.updates == 5 and result.model.is_dir() and result.best is None
    assert any("loss" in each["figures"] for each in seen) and said
    config = dragoman.TrainConfig(small_training)
    config["output"] = str(tmp_path / "theirs")
    (tmp_path / "train.yml").write_text(config.to_yaml())
    program("train", tmp_path / "train.yml")
    ours, theirs = (folder / "last/model.safetensors" for folder in (tmp_path / "run", tmp_path / "theirs"))
    assert ours.read_bytes() == theirs.read_bytes()
    assert dragoman.Translator(result.model).translate("Ein Hund.") is not None


def test_training_stops_for_an_exception_and_resumes(small_training):
    class Enough(Exception):
        pass

    def stop(now):
        if now["stage"] == "train" and now["done"] >= 2:
            raise Enough

    with pytest.raises(Enough):
        dragoman.train(small_training, progress=stop)
    assert dragoman.train(small_training, resume=True).updates == 5


def test_values_of_a_configuration_are_pythons(small_training, tmp_path):
    config = dragoman.TrainConfig({**small_training, "output": tmp_path})
    for value in ("runs/exp #2", "1e3", "a: b", "#", "[a", 3, 2.5, True, None, [1, "x"], {"a": 1}):
        config["model.name"] = value
        assert config["model.name"] == value
    config["training.updates"] = np.int64(7)
    assert config["training.updates"] == 7 and config["output"] == str(tmp_path)
    with pytest.raises(KeyError):
        config["training.nothing"]


def test_one_text_is_not_several(model):
    for call in (
        lambda: dragoman.evaluate("a b", ["a b"]),
        lambda: dragoman.evaluate(["a b"], "a b"),
        lambda: dragoman.Scorer(model).score_batch("ab", "cd"),
        lambda: dragoman.Embedder(model).embed_batch("ab"),
        lambda: dragoman.Translator(model).translate_iterable("ab"),
        lambda: dragoman.Translator(model).translate("ab", constraints="cat"),
        lambda: dragoman.learn_bpe(texts="ab"),
    ):
        with pytest.raises(TypeError, match="several"):
            call()


def test_messages_go_to_the_logger_by_default(caplog):
    with caplog.at_level("WARNING", logger="dragoman"):
        dragoman.learn_bpe(texts=["ab"] * 3, vocab_size=30000)
    assert any("30000" in record.message for record in caplog.records)


def test_training_names_wrong_keys(small_training, tmp_path):
    with pytest.raises(dragoman.BadInputError, match="upgrades"):
        dragoman.train({**small_training, "training": {"upgrades": 5}})
    with pytest.raises(dragoman.FileError):
        dragoman.TrainConfig(tmp_path / "missing.yml")


def test_conversion_and_quantisation(translator, tmp_path):
    dragoman.convert(MODEL, tmp_path / "ct2", to="ctranslate2")
    dragoman.convert(tmp_path / "ct2", tmp_path / "back")
    dragoman.quantize(tmp_path / "back", tmp_path / "int8")
    text = "Eine Frau spielt Gitarre."
    for folder in ("ct2", "back", "int8"):
        assert dragoman.Translator(tmp_path / folder).translate(text) == translator.translate(text)
    dragoman.convert(MODEL / "tokenizer.json", tmp_path / "t.model", log=print)
    assert dragoman.Tokenizer(tmp_path / "t.model").tokenize("Ein Hund.") == translator.model.source_tokenizer.tokenize("Ein Hund.")
    with pytest.raises(dragoman.InvalidArgumentError) as raised:
        dragoman.convert(MODEL, tmp_path / "x", to="onnx")
    assert raised.value.key == "to" and "ctranslate2" in str(raised.value)
    with pytest.raises(dragoman.InvalidArgumentError):
        dragoman.quantize(MODEL, tmp_path / "y", type="int4")
