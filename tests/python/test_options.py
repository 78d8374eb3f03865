"""The keywords that type checkers see are those of the library."""

import json

import pytest

import dragoman

from dragoman import _core
from dragoman._options import LearnBpeOptions, LearnUnigramOptions, SearchOptions


def test_search_options_are_those_of_the_table():
    table = {name for name, *_ in _core.search_options()}
    assert set(SearchOptions.__annotations__) == table


def test_search_options_have_the_types_of_the_table():
    plain = {"bool": bool, "int": int, "float": float, "str": str}
    for name, placeholder, help_text, fallback, choices in _core.search_options():
        assert help_text
        annotation = str(SearchOptions.__annotations__[name])
        value = json.loads(fallback)
        for word, kind in plain.items():
            if f"'{word}'" in annotation and value is not None:
                assert isinstance(value, (int, float) if kind is float else kind), name


def test_every_option_of_a_learner_is_known_to_it():
    for learn, options in ((_core.learn_bpe, LearnBpeOptions), (_core.learn_unigram, LearnUnigramOptions)):
        for name in options.__annotations__:
            with pytest.raises(dragoman.InvalidArgumentError) as raised:  # a TypeError for a name that is unknown
                learn([], {name: object()}, None, None)
            assert raised.value.key == name


def test_the_docstring_has_the_help_of_every_option():
    for name, _, help_text, *_ in _core.search_options():
        assert f"    {name}\n" in SearchOptions.__doc__ and help_text[1:] in SearchOptions.__doc__
