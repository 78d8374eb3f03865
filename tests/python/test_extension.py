"""Functions of Python as stages, logits processors and metrics."""

import threading

import pytest

import dragoman
from conftest import MODEL
from test_services import small_training  # noqa: F401, a fixture

calls = {"shout": [], "forbid": 0}


@dragoman.stage("python-shout", batch_size=16)
def shout(records, mark="!"):
    """Add a mark."""
    calls["shout"].append(len(records))
    for record in records:
        if record["text"] == "bad":
            record["error"] = "it is bad"
        record["text"] += mark
        record["fields"]["length"] = len(record["text"])


@dragoman.logits_processor("python-forbid")
def forbid(source, hypotheses, tokens):
    calls["forbid"] += 1
    return [{token: -float("inf") for token in tokens} for _ in hypotheses]


@dragoman.logits_processor("python-broken")
def broken(source, hypotheses):
    raise ZeroDivisionError


def run(tmp_path, lines, options, **more):
    (tmp_path / "in").write_text("".join(line + "\n" for line in lines))
    stages = [{"read": {"path": tmp_path / "in"}}, {"python-shout": options}, {"write": {"path": tmp_path / "out", "format": "jsonl"}}]
    return dragoman.run_pipeline(stages, **more)


def test_a_stage_changes_records_in_batches(tmp_path):
    lines = [f"line {i}" for i in range(500)]
    calls["shout"].clear()
    assert run(tmp_path, lines, {"mark": "?"}, threads=3) == (500, 0)
    import json

    found = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [each["text"] for each in found] == [line + "?" for line in lines]
    assert all(each["length"] == len(each["text"]) for each in found)
    assert sum(calls["shout"]) == 500 and max(calls["shout"]) <= 16 and len(calls["shout"]) < 100


def test_a_failed_record_keeps_its_place(tmp_path):
    assert run(tmp_path, ["good", "bad", "good"], {}) == (3, 1)
    assert len((tmp_path / "out").read_text().splitlines()) == 3
    with pytest.raises(dragoman.BadInputError, match="it is bad"):
        run(tmp_path, ["good", "bad"], {}, fail_on_error=True)


def test_wrong_options_and_exceptions_of_a_stage_are_raised(tmp_path):
    with pytest.raises(dragoman.BadInputError, match="makr"):
        run(tmp_path, ["x"], {"makr": "?"})

    with pytest.raises(TypeError):
        run(tmp_path, ["x"], {"mark": 3})  # str + int
    with pytest.raises(TypeError, match="the decorator needs a name"):
        dragoman.stage(shout)
    with pytest.raises(dragoman.InvalidArgumentError):
        dragoman.stage("translate")(shout)  # a stage of the library
    with pytest.raises(dragoman.InvalidArgumentError):
        dragoman.stage("translate")(shout)  # and it is refused again


def test_a_function_registered_again_replaces_the_first(tmp_path):
    """As a cell of a notebook that is run twice."""
    for mark in "ab":

        @dragoman.stage("python-again")
        def again(records, mark=mark):
            for record in records:
                record["text"] += mark

        (tmp_path / "in").write_text("x\n")
        dragoman.run_pipeline(
            [{"read": {"path": tmp_path / "in"}}, {"python-again": {}}, {"write": {"path": tmp_path / "out"}}]
        )
        assert (tmp_path / "out").read_text() == f"x{mark}\n"


def test_a_logits_processor_forbids_tokens(model, translator):
    text = "Eine Frau spielt Gitarre."
    usual = translator.translate(text, beam_size=3)
    banned = [model.target_tokenizer.id(token) for token in model.target_tokenizer.tokenize(usual)]
    changed = dragoman.Translator(model, beam_size=3, logits_processors={"python-forbid": {"tokens": banned}})
    found = changed.translate_n_best(text)[0]
    assert not set(banned) & {model.target_tokenizer.id(token) for token in found.tokens}
    assert found.text != usual and translator.translate(text, beam_size=3) == usual
    # The same as the search's own suppression.
    assert found.text == translator.translate(text, beam_size=3, suppress_tokens=[[token] for token in banned])


def test_a_processor_is_called_once_for_all_hypotheses(model):
    translator = dragoman.Translator(model, beam_size=6, logits_processors={"python-forbid": {"tokens": []}})
    calls["forbid"] = 0
    tokens = translator.translate_n_best("Eine Frau spielt Gitarre.")[0].tokens
    assert 0 < calls["forbid"] <= 3 * (len(tokens) + 1)


def test_exceptions_and_wrong_names_of_processors(model):
    with pytest.raises(ZeroDivisionError):
        dragoman.Translator(model, logits_processors={"python-broken": {}}).translate("Ein Hund.")
    with pytest.raises(dragoman.InvalidArgumentError, match="python-forbid"):
        dragoman.Translator(model, logits_processors={"python-forbit": {}})
    with pytest.raises(dragoman.BadInputError, match="tokns"):
        dragoman.Translator(model, logits_processors={"python-forbid": {"tokns": []}}).translate("Ein Hund.")


def validated(config, **metric):
    validation = [dict(config["data"]["train"][0])]
    return {
        **config,
        "data": {**config["data"], "validation": validation},
        "validation": {"every": 3, "metrics": [{"name": "mine", "function": "mine", **metric}]},
    }


def test_a_metric_selects_the_best_model(small_training):  # noqa: F811
    seen = []

    def mine(sources, hypotheses, references):
        seen.append((len(sources), len(hypotheses), len(references), threading.current_thread()))
        return 10.0 - len(seen)

    result = dragoman.train(validated(small_training), metrics={"mine": mine})
    assert (result.metric, result.best) == ("mine", 9.0)
    assert seen[0][0] == seen[0][1] == seen[0][2] > 0


def test_faults_of_a_metric(small_training, tmp_path):  # noqa: F811
    with pytest.raises(dragoman.InvalidArgumentError, match="mine is the function"):
        dragoman.train(validated(small_training))
    said = []
    dragoman.train(validated(small_training), metrics={"mine": lambda *texts: float("nan")}, log=lambda *x: said.append(x))
    assert any("no finite number" in message for _, message in said)
    small_training["output"] = str(tmp_path / "second")
    with pytest.raises(ZeroDivisionError):
        dragoman.train(validated(small_training), metrics={"mine": lambda *texts: 1 / 0})
