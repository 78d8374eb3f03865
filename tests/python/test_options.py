"""The keywords that type checkers see are those of the library."""

import json

import pytest

import dragoman

from dragoman import _core
from dragoman._options import LearnBpeOptions, LearnUnigramOptions, SearchOptions


TABLES = {"search": SearchOptions, "learn_bpe": LearnBpeOptions, "learn_unigram": LearnUnigramOptions}
LEARNERS = {"learn_bpe": dragoman.learn_bpe, "learn_unigram": dragoman.learn_unigram}


@pytest.mark.parametrize("function", TABLES)
def test_options_are_those_of_the_table(function):
    table = {name for name, *_ in _core.option_table(function)}
    assert set(TABLES[function].__annotations__) == table


@pytest.mark.parametrize("function", TABLES)
def test_options_have_the_types_of_the_table(function):
    plain = {"bool": bool, "int": int, "float": float, "str": str}
    for name, placeholder, help_text, fallback, choices in _core.option_table(function):
        assert help_text
        annotation = str(TABLES[function].__annotations__[name])
        value = json.loads(fallback)
        for word, kind in plain.items():
            if f"'{word}'" in annotation and value is not None:
                assert isinstance(value, (int, float) if kind is float else kind), name
        assert ("Sequence[" in annotation) == placeholder.endswith("...") or function == "search", name
        assert (annotation == "ForwardRef('bool', module='dragoman._options')") == (placeholder == ""), name


@pytest.mark.parametrize("function", LEARNERS)
def test_a_learner_names_the_option_that_is_wrong(function):
    for name in TABLES[function].__annotations__:
        with pytest.raises(dragoman.BadInputError) as raised:
            LEARNERS[function](texts=["a b"], **{name: {"x": 1}})
        assert raised.value.key == name, name
    with pytest.raises(dragoman.BadInputError, match="did you mean 'vocab_size'") as raised:
        LEARNERS[function](texts=["a b"], vocab_sise=300)
    assert raised.value.key == "vocab_sise"
    with pytest.raises(dragoman.BadInputError, match="character_coverage: is 2; it must be") as raised:
        LEARNERS[function](texts=["a b"], character_coverage=2.0)
    assert raised.value.key == "character_coverage"


def test_options_that_need_another():
    with pytest.raises(dragoman.BadInputError, match="has an effect with `sentencepiece` only") as raised:
        dragoman.learn_bpe(texts=["a b"], character_map="nfkc")
    assert raised.value.key == "character_map"
    with pytest.raises(dragoman.BadInputError, match="must be one of: nmt_nfkc, nfkc"):
        dragoman.learn_unigram(texts=["a b"], character_map="nfd")


def test_memory_is_a_number_or_a_size():
    learned = [dragoman.learn_bpe(texts=["low lower"], vocab_size=280, memory=m) for m in (0, 1 << 30, "1GiB")]
    assert len({tuple(each.tokenize("lower")) for each in learned}) == 1
    with pytest.raises(dragoman.BadInputError, match="memory"):
        dragoman.learn_bpe(texts=["low"], memory="much")


@pytest.mark.parametrize("function", TABLES)
def test_the_docstring_has_the_help_of_every_option(function):
    for name, _, help_text, *_ in _core.option_table(function):
        for described in (TABLES[function], LEARNERS.get(function, TABLES[function])):
            assert f"    {name}\n" in described.__doc__ and help_text[1:] in described.__doc__


def test_keys_of_errors_are_keywords(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(dragoman.InvalidArgumentError, match="`from_` is \"nothing\"") as raised:
        dragoman.convert(tmp_path / "file", tmp_path / "made.json", from_="nothing")
    assert raised.value.key == "from_"
    with pytest.raises(dragoman.InvalidArgumentError, match="`import_options` are for a model"):
        dragoman.convert("examples/multi30k/model/tokenizer.json", tmp_path / "made.model", to="sentencepiece", x=1)


def test_an_unknown_keyword_of_a_search_is_the_key_of_its_error(model):
    with pytest.raises(dragoman.BadInputError, match="did you mean 'beam_size'") as raised:
        dragoman.Translator(model, beam_sise=3)
    assert raised.value.key == "beam_sise"
