"""The form in which `repr` and `str` show parts of a tokenizer.json."""

from __future__ import annotations

from typing import Any

class Name(str):
    """A word that is shown without quotes."""


#: Keys whose values are names and not texts.
_NAMES = ("behavior", "prepend_scheme", "direction")


def shown(part: Any, limit: int | None = None) -> str:
    """Return a part as text. `limit`: the number of elements of a list or an object that are shown."""
    if isinstance(part, dict) and "type" in part:
        fields = [_field(key, value, limit) for key, value in part.items() if key != "type"]
        return f"{part['type']}({', '.join(fields)})"
    if isinstance(part, dict):
        items = [f"{_text(key)}:{_value(value, limit)}" for key, value in part.items()]
        return "{" + ", ".join(_some(items, limit)) + "}"
    return _value(part, limit)


def _field(key: str, value: Any, limit: int | None) -> str:
    if key in _NAMES and isinstance(value, str):
        return f"{key}={value}"
    if key == "pattern" and isinstance(value, dict):
        (kind, text), *_ = value.items()
        return f"{key}={kind}({_text(text)})"
    if key in ("sep", "cls"):
        return f"{key}=({_text(value[0])}, {value[1]})"
    if key in ("single", "pair"):
        return f"{key}=[{', '.join(_some([_piece(each) for each in value], limit))}]"
    if key == "special_tokens" and isinstance(value, dict):
        tokens = [f"{_text(name)}:{_call('SpecialToken', token, limit)}" for name, token in value.items()]
        return f"{key}={{{', '.join(_some(tokens, limit))}}}"
    return f"{key}={_value(value, limit)}"


def _piece(piece: dict[str, dict[str, Any]]) -> str:
    (kind, content), *_ = piece.items()
    name = content["id"] if kind == "Sequence" else _text(content["id"])
    return f"{kind}(id={name}, type_id={content['type_id']})"


def _call(name: str, fields: dict[str, Any], limit: int | None) -> str:
    return f"{name}({', '.join(f'{key}={_value(value, limit)}' for key, value in fields.items())})"


def _value(value: Any, limit: int | None) -> str:
    if isinstance(value, str):
        return str(value) if isinstance(value, Name) else _text(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, tuple):
        return "(" + ", ".join(_value(each, limit) for each in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(_some([_value(each, limit) for each in value], limit)) + "]"
    if isinstance(value, dict):
        return shown(value, limit)
    return str(value)


def _text(value: str) -> str:
    return f'"{value}"'


def _some(values: list[str], limit: int | None) -> list[str]:
    return values if limit is None or len(values) <= limit else [*values[:limit], "..."]
