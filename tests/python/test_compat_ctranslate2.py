"""The replacement of ctranslate2: golden/ctranslate2.json is CTranslate2's own (golden/make_ctranslate2.py)."""

import gc
import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import dragoman
from dragoman.compat import ctranslate2

TREE = Path(__file__).resolve().parents[2]
MODEL = TREE / "examples/multi30k/model"
GOLDEN = json.loads((Path(__file__).parent / "golden/ctranslate2.json").read_text(encoding="utf-8"))
SOURCES = [text.split() for text in GOLDEN["sources"]]
PREFIXES = [text.split() for text in GOLDEN["prefixes"]]
TARGETS = [text.split() for text in GOLDEN["targets"]]
NO_END = TREE / "tests/formats/golden/ctranslate2/no-source-end"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "ct2"
    dragoman.convert(MODEL, path, to="ctranslate2")
    return path


@pytest.fixture(scope="module")
def translator(folder):
    return ctranslate2.Translator(str(folder), inter_threads=1, intra_threads=2)


def flat(value):
    return [each for part in value for each in flat(part)] if isinstance(value, list) else [value]


def translate(translator, case):
    """Return the results of a case. Samples of each sentence are the first after the seed is set."""
    options = dict(case["options"], return_scores=True)
    if options.get("sampling_topk", 1) == 1:
        return translator.translate_batch(SOURCES, PREFIXES if case["prefix"] else None, **options)
    results = []
    ctranslate2.set_random_seed(46)
    for source in SOURCES:
        fresh = ctranslate2.Translator(translator._path)
        results += fresh.translate_batch([source], **options)
    return results


@pytest.mark.parametrize("name", GOLDEN["cases"])
def test_results_are_those_of_ctranslate2(translator, name):
    case = GOLDEN["cases"][name]
    for found, expected in zip(translate(translator, case), case["results"], strict=True):
        assert [" ".join(tokens) for tokens in found.hypotheses] == expected["hypotheses"]
        assert found.scores == pytest.approx(expected["scores"], abs=2e-4)
        assert flat(found.attention) == pytest.approx(flat(expected.get("attention", [])), abs=2e-4)


def test_scores_are_those_of_ctranslate2(translator):
    for found, target, expected in zip(translator.score_batch(SOURCES, TARGETS), TARGETS, GOLDEN["scores"]):
        known = [token if token != "▁laughs" else "<unk>" for token in target]  # no piece of the vocabulary
        assert found.tokens == [*known, "</s>"]
        assert found.log_probs == pytest.approx(expected, abs=2e-4)
    cut = translator.score_batch(SOURCES, TARGETS, max_input_length=4, offset=1)[0]
    assert cut.tokens == [*TARGETS[0][1:3], "</s>"]


def test_all_methods_agree(translator, tmp_path):
    expected = [result.hypotheses for result in translator.translate_batch(SOURCES, beam_size=3)]
    assert [r.hypotheses for r in translator.translate_iterable(iter(SOURCES), beam_size=3)] == expected
    later = translator.translate_batch(SOURCES, beam_size=3, asynchronous=True)
    assert [result.result().hypotheses for result in later] == expected
    assert all(result.done() for result in later)
    (tmp_path / "source").write_text("\n".join(GOLDEN["sources"]) + "\n", encoding="utf-8")
    stats = translator.translate_file(str(tmp_path / "source"), str(tmp_path / "target"), beam_size=3)
    assert (tmp_path / "target").read_text(encoding="utf-8").split("\n")[:-1] == [" ".join(h[0]) for h in expected]
    assert stats.num_examples == len(SOURCES) and stats.num_tokens == sum(len(h[0]) for h in expected)
    one = translator.translate_batch(SOURCES[:1], return_alternatives=True, num_hypotheses=3)
    other = translator.translate_batch(SOURCES[:1], return_alternatives=True, num_hypotheses=3, asynchronous=True)
    assert other[0].result().hypotheses == one[0].hypotheses


def test_tokens_arrive_as_they_are_generated(translator):
    expected = translator.translate_batch(SOURCES[:1], beam_size=1, return_scores=True)[0]
    steps = list(translator.generate_tokens(SOURCES[0], return_log_prob=True))
    assert [step.token for step in steps] == [*expected.hypotheses[0], "</s>"]
    assert [step.step for step in steps] == list(range(len(steps)))
    assert [step.is_last for step in steps] == [False] * (len(steps) - 1) + [True]
    assert sum(step.log_prob for step in steps) / len(steps) == pytest.approx(expected.scores[0], abs=1e-6)
    stream = translator.generate_tokens(SOURCES[0])
    assert next(stream).token == expected.hypotheses[0][0]
    stream.close()


def test_a_callback_may_stop_and_may_fail(translator):
    expected = translator.translate_batch(SOURCES, beam_size=1)
    stopped = translator.translate_batch(SOURCES, beam_size=1, callback=lambda step: step.step == 2)
    assert [r.hypotheses[0] for r in stopped] == [r.hypotheses[0][:3] for r in expected]
    seen = []
    translator.translate_batch(
        SOURCES[:2], PREFIXES[:2], beam_size=1, callback=lambda step: seen.append((step.batch_id, step.token))
    )
    assert [token for batch, token in seen if batch == 0][:3] == PREFIXES[0]

    def fail(step):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        translator.translate_batch(SOURCES, beam_size=1, callback=fail)
    assert [r.hypotheses for r in translator.translate_batch(SOURCES, beam_size=1)] == [r.hypotheses for r in expected]


def test_sources_without_an_end(tmp_path):
    expected = json.loads((NO_END.parent / "expected.json").read_text(encoding="utf-8"))["no-source-end"]
    translator = ctranslate2.Translator(NO_END)
    dragoman.convert(NO_END, tmp_path / "converted")
    for opened in (translator, ctranslate2.Translator(tmp_path / "converted")):
        for case in expected:
            found = opened.translate_batch([case["source"]], beam_size=4, max_decoding_length=24, return_scores=True)[0]
            assert found.hypotheses[0] == case["beam"]
            assert found.scores[0] == pytest.approx(case["beam_score"], abs=3e-5)
            scored = opened.score_batch([case["source"]], [case["target"]])[0]
            assert scored.log_probs == pytest.approx(case["log_probabilities"], abs=3e-5)
    attention = translator.translate_batch([["w3", "w1"]], return_attention=True)[0].attention[0]
    assert len(attention[0]) == 2 and sum(attention[0]) == pytest.approx(1)
    assert translator.score_batch([[]], [["v1"]])[0].log_probs == [0, 0]


def test_a_vocabulary_map_limits_the_tokens(folder, tmp_path):
    with_map = tmp_path / "model"
    with_map.mkdir()
    for file in folder.iterdir():
        (with_map / file.name).symlink_to(file)
    words = "▁Two ▁dogs ▁are ▁playing ▁in ▁snow".split()
    (with_map / "vmap.txt").write_text(f"\t{' '.join(words)}\n▁im ▁Schnee\t▁the\n", encoding="utf-8")
    translator = ctranslate2.Translator(with_map)
    source = SOURCES[1]
    for beam_size in (1, 3):
        found = translator.translate_batch([source], beam_size=beam_size, use_vmap=True)[0].hypotheses[0]
        assert set(found) <= {*words, "▁the"} and "▁the" in found
        without = translator.translate_batch([["▁Hunde"]], beam_size=beam_size, use_vmap=True)[0].hypotheses[0]
        assert "▁the" not in without
        assert not {*translator.translate_batch([source], beam_size=beam_size)[0].hypotheses[0]} <= {*words, "▁the"}


def test_models_from_memory_and_unloaded_models(folder):
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    translator = ctranslate2.Translator("name", files=files)
    expected = translator.translate_batch(SOURCES)[0].hypotheses
    translator.unload_model(to_cpu=True)
    assert translator.model_is_loaded
    translator.unload_model()
    assert not translator.model_is_loaded
    with pytest.raises(RuntimeError, match="unloaded"):
        translator.translate_batch(SOURCES)
    translator.load_model()
    assert translator.translate_batch(SOURCES)[0].hypotheses == expected


def test_results_outlive_their_translator(folder):
    translator = ctranslate2.Translator(folder)
    expected = translator.translate_batch(SOURCES, beam_size=4)
    later = translator.translate_batch(SOURCES, beam_size=4, asynchronous=True)
    del translator
    gc.collect()
    assert [each.result().hypotheses for each in later] == [each.hypotheses for each in expected]


def test_threads_share_a_translator(translator):
    expected = [r.hypotheses for r in translator.translate_batch(SOURCES)]
    found = [None] * 8

    def work(index):
        found[index] = [r.hypotheses for r in translator.translate_batch(SOURCES)]

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * len(found)


def test_samples_go_on_and_begin_anew(folder):
    def draw(translator):
        options = dict(beam_size=1, sampling_topk=0, num_hypotheses=2)
        return [r.hypotheses for r in translator.translate_batch(SOURCES, **options)]

    ctranslate2.set_random_seed(5)
    one, other = ctranslate2.Translator(folder), ctranslate2.Translator(folder)
    first, second = draw(one), draw(one)
    assert first != second
    assert draw(other) == first
    ctranslate2.set_random_seed(6)
    assert draw(one) != first


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(beam_size=0), "beam size"),
        (dict(num_hypotheses=3), "number of hypotheses"),
        (dict(min_decoding_length=9, max_decoding_length=3), "is greater than"),
        (dict(end_token="nothing"), "not in the vocabulary"),
        (dict(suppress_sequences=[["nothing"]]), "not in the vocabulary"),
        (dict(callback=print), "not compatible"),
        (dict(batch_type="words"), "batch type"),
        (dict(beam_size=1, sampling_topk=10**6), "vocabulary size"),
        (dict(beam_size=1, sampling_topk=5, sampling_temperature=float("nan")), "temperature"),
        (dict(beam_size=1, sampling_topk=5, sampling_temperature=-1), "temperature"),
    ],
)
def test_wrong_options_are_named(translator, options, message):
    with pytest.raises(ValueError, match=message):
        translator.translate_batch(SOURCES, **options)


def test_what_is_missing_names_what_covers_it(translator, folder):
    with pytest.raises(NotImplementedError, match="score_batch"):
        translator.translate_batch(SOURCES, return_logits_vocab=True)
    with pytest.raises(NotImplementedError, match="num_hypotheses"):
        translator.translate_batch(SOURCES, sampling_topk=5)
    with pytest.raises(TypeError, match="beam"):
        translator.translate_batch(SOURCES, beam=5)
    for make in (
        lambda: ctranslate2.Generator(folder),
        lambda: ctranslate2.StorageView.from_array([1]),
        lambda: ctranslate2.converters.TransformersConverter("name"),
        lambda: ctranslate2.models.Whisper(folder),
        lambda: ctranslate2.specs.TransformerSpec(),
        lambda: ctranslate2.Translator(folder, tensor_parallel=True),
    ):
        with pytest.raises(NotImplementedError, match="dragoman|Dragoman|lists"):
            make()


def test_properties_and_functions(translator, folder, tmp_path, capfd):
    assert (translator.device, translator.device_index, translator.compute_type) == ("cpu", [0], "float32")
    assert (translator.num_translators, translator.num_active_batches, translator.num_queued_batches) == (1, 0, 0)
    assert ctranslate2.contains_model(folder) and ctranslate2.contains_model(MODEL)
    assert not ctranslate2.contains_model(tmp_path)
    assert {"float32", "int8"} <= ctranslate2.get_supported_compute_types("cpu")
    assert ctranslate2.get_cuda_device_count() >= 0
    with pytest.raises(RuntimeError, match="open file"):
        ctranslate2.Translator("nothing")
    with pytest.raises(ValueError, match="device index"):
        ctranslate2.Translator(folder, device_index=[0, 1])
    capfd.readouterr()
    ctranslate2.set_log_level(logging.INFO)
    int8 = ctranslate2.Translator(folder, compute_type={"cpu": "int8"})
    ctranslate2.set_log_level(logging.WARNING)
    assert int8.compute_type == "int8_float32" and "Loaded model" in capfd.readouterr().err


def test_sources_without_content(translator):
    found = translator.translate_batch([[], ["</s>"]], [["▁A", "nothing"], None], return_scores=True, num_hypotheses=2)
    assert found[0].hypotheses == [["▁A", "<unk>"]] * 2 and found[0].scores == [0, 0]
    assert found[1].hypotheses == [[], []]
    assert translator.translate_batch([]) == []


def test_the_interpreter_may_end_while_callbacks_are_due(folder):
    code = f"""
from dragoman.compat import ctranslate2
translator = ctranslate2.Translator({str(folder)!r})
later = translator.translate_batch([{SOURCES[0]!r}] * 300, beam_size=1, asynchronous=True, callback=lambda step: False)
later[0].result()
print("end")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
