"""The keywords that type checkers see are those of the library."""

import json

from dragoman import _core
from dragoman._options import SearchOptions


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
