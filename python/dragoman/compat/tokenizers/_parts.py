"""The base of all components: descriptions of parts of a tokenizer.json.

A component does no work of its own. The engine reads the parts of a tokenizer together, and a method such as
`normalize_str` opens an engine with this part alone.
"""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any, Callable, ClassVar, Generic, Iterator, Mapping, NoReturn, Optional, TypeVar, Union, overload

from ._engine import Engine
from ._text_form import shown

Part = dict[str, Any]
Value = TypeVar("Value")
_clock = itertools.count(1)


class Key(Generic[Value]):
    """An attribute that is a key of the part. `check` converts a new value or refuses it."""

    def __init__(self, key: str = "", check: Callable[[Any], Value] | None = None) -> None:
        self.key = key
        self.check = check

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    @overload
    def __get__(self, instance: None, owner: type) -> Key[Value]: ...
    @overload
    def __get__(self, instance: Component, owner: type) -> Value: ...
    def __get__(self, instance: Component | None, owner: type) -> Key[Value] | Value:
        if instance is None:
            return self
        value: Value = instance._part.get(self.key)  # type: ignore[assignment]
        return value

    def __set__(self, instance: Component, value: Value) -> None:
        instance._part[self.key] = value if self.check is None else self.check(value)
        instance._touch()


class Hidden:
    """An attribute that exists in the part and that Python can neither read nor set."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__}.{self.name} cannot be read; read the part with __getstate__()")

    def __set__(self, instance: object, value: object) -> NoReturn:
        name = type(instance).__name__
        raise AttributeError(f"{name}.{self.name} cannot be set; make a new {name}")


class Component:
    """A part of a tokenizer.json.

    A tokenizer that a component was assigned to sees later changes of it.
    """

    #: The value of "type" in the part.
    type_name: ClassVar[str] = ""
    #: The keys that a part may leave out.
    defaults: ClassVar[Mapping[str, Any]] = {}
    _part: Part
    _changed: int

    def _set(self, **values: Any) -> None:
        self._part = {"type": self.type_name or type(self).__name__, **values}
        self._touch()

    def _touch(self) -> None:
        self._changed = next(_clock)

    def _revision(self) -> int:
        """Return a number that rises with each change of the component."""
        return self._changed

    def _to_part(self) -> Part:
        return self._part

    @classmethod
    def _from_part(cls, part: Part) -> Component:
        made = cls.__new__(cls)
        made._load(part)
        return made

    def _load(self, part: Part) -> None:
        complete = all(key in part for key in self.defaults)
        # A file that lacks keys gets them in the order in which the package writes them.
        known = {} if complete else {key: part.get(key, value) for key, value in self.defaults.items()}
        self._part = {"type": part["type"], **known, **part}
        self._touch()

    def __getstate__(self) -> bytes:
        return json.dumps(self._to_part(), ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: Union[bytes, str]) -> None:
        self._load(json.loads(state))

    def __getnewargs__(self) -> tuple[()]:
        return ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.__getstate__())

    def __deepcopy__(self, memo: dict[int, Any]) -> Component:
        return type(self)._from_part(copy.deepcopy(self._to_part()))

    def __repr__(self) -> str:
        return shown(self._to_part())

    def __str__(self) -> str:
        return shown(self._to_part(), 5)


def _revive(cls: type[Component], state: bytes) -> Component:
    return cls._from_part(json.loads(state))


class SequenceOf(Component):
    """A component that applies others one after the other."""

    key: ClassVar[str] = ""
    _items: list[Component]

    def _set_items(self, items: Any) -> None:
        self._items = [self._checked(item) for item in items]
        self._touch()

    def _revision(self) -> int:
        return max([self._changed, *(item._revision() for item in self._items)])

    def _to_part(self) -> Part:
        return {"type": "Sequence", self.key: [item._to_part() for item in self._items]}

    def _load(self, part: Part) -> None:
        self._set_items([component_of(_family(type(self)), each) for each in part[self.key]])

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Component]:
        return iter(self._items)

    def __getitem__(self, index: int) -> Component:
        if not -len(self._items) <= index < len(self._items):
            raise IndexError("Index not found")
        return self._items[index]

    def __setitem__(self, index: int, item: Component) -> None:
        if not -len(self._items) <= index < len(self._items):
            raise IndexError("Index not found")
        self._items[index] = self._checked(item)
        self._touch()

    def _checked(self, item: Any) -> Component:
        family = _family(type(self))
        if not isinstance(item, family):
            raise TypeError(f"'{type(item).__name__}' object is not an instance of '{family.__name__}'")
        return item


def _family(cls: type[Component]) -> type[Component]:
    """Return the class directly below Component: Normalizer, PreTokenizer, ..."""
    return next(base for base in cls.__mro__ if Component in base.__bases__ and base is not SequenceOf)


def _subclasses(cls: type[Component]) -> Iterator[type[Component]]:
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)


def component_of(family: type[Component], part: Optional[Part]) -> Any:
    """Return the component of a part, or None for None."""
    if part is None:
        return None
    for cls in _subclasses(family):
        if (cls.type_name or cls.__name__) == part.get("type"):
            return cls._from_part(part)
    raise ValueError(f"there is no {family.__name__} of the type {part.get('type')!r}")


def engine_of(**parts: Optional[Part]) -> Engine:
    """Return an engine with these parts alone."""
    empty = {"type": "WordLevel", "vocab": {}, "unk_token": "<unk>"}
    document: Part = {"normalizer": None, "pre_tokenizer": None, "decoder": None, "model": empty, "added_tokens": []}
    return Engine({**document, **parts})


class Regex:
    """A regular expression in the syntax of Oniguruma."""

    __slots__ = ("pattern",)

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __repr__(self) -> str:
        return f'Regex("{self.pattern}")'


def pattern_part(pattern: Union[str, Regex]) -> dict[str, str]:
    if isinstance(pattern, Regex):
        return {"Regex": pattern.pattern}
    if isinstance(pattern, str):
        return {"String": pattern}
    raise TypeError(f"a pattern must be a str or a Regex, not {type(pattern).__name__}")


def one_character(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1:
        raise ValueError("expected a string of length 1")
    return value


def prepend_scheme(value: Any) -> str:
    if value not in ("always", "first", "never"):
        raise ValueError(f"{value} is an unknown variant, should be one of ['first', 'never', 'always']")
    return str(value)


def metaspace_part(part: Part) -> Part:
    """Return the part of a Metaspace in the present form; older files have add_prefix_space."""
    if part.get("add_prefix_space") is False and part.get("prepend_scheme", "always") != "never":
        raise ValueError("add_prefix_space does not match declared prepend_scheme")
    part = {key: value for key, value in part.items() if key not in ("str_rep", "add_prefix_space")}
    return {"replacement": "\u2581", "prepend_scheme": "always", "split": True, **part}
