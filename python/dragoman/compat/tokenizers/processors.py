"""Post-processors: descriptions of the post-processor of a tokenizer.json."""

from __future__ import annotations

from typing import Any, Iterable, Optional, Union

from ._checks import token_id
from ._encoding import Encoding
from ._parts import Component, Key, Part, SequenceOf
from ._steps import Bert, Roberta, Step, Template, TrimOffsets, added_tokens, processed

TokenAndId = tuple[str, int]


class PostProcessor(Component):
    """The base of all post-processors."""

    def _steps(self) -> tuple[Step, ...]:
        """Return what the post-processor does, in a form that later changes of it leave alone."""
        raise NotImplementedError

    def _load(self, part: Part) -> None:
        super()._load({**part, **{key: _pair(part[key]) for key in ("sep", "cls") if key in part}})

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of tokens that are added to a text or to a pair."""
        return added_tokens(self._steps(), is_pair)

    def process(self, encoding: Encoding, pair: Optional[Encoding] = None, add_special_tokens: bool = True) -> Encoding:
        """Return an encoding with the special tokens, or a pair of encodings as one."""
        plans = [each._plan().copy() for each in (encoding, pair) if each is not None]
        return Encoding._of(processed(self._steps(), plans, add_special_tokens))


def _pair(value: Any) -> list[Any]:
    token, id = value
    if not isinstance(token, str) or not isinstance(id, int):
        raise TypeError("a special token must be (token, id)")
    return [token, token_id(id, "the id of a special token")]


class _Token(Key[TokenAndId]):
    """A special token, which Python shows as a tuple."""

    def __init__(self, key: str = "") -> None:
        super().__init__(key, _pair)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else tuple(instance._part[self.key])


class BertProcessing(PostProcessor):
    sep = _Token()
    cls = _Token()

    def __init__(self, sep: TokenAndId, cls: TokenAndId) -> None:
        self._set(sep=_pair(sep), cls=_pair(cls))

    def _steps(self) -> tuple[Step, ...]:
        return (Bert(tuple(self._part["sep"]), tuple(self._part["cls"])),)


class RobertaProcessing(PostProcessor):
    defaults = {"trim_offsets": True, "add_prefix_space": True}
    sep = _Token()
    cls = _Token()
    trim_offsets = Key[bool]()
    add_prefix_space = Key[bool]()

    def __init__(
        self, sep: TokenAndId, cls: TokenAndId, trim_offsets: bool = True, add_prefix_space: bool = True
    ) -> None:
        self._set(sep=_pair(sep), cls=_pair(cls), trim_offsets=trim_offsets, add_prefix_space=add_prefix_space)

    def _steps(self) -> tuple[Step, ...]:
        trim = (TrimOffsets(self.add_prefix_space, False),) if self.trim_offsets else ()
        return (*trim, Roberta(tuple(self._part["sep"]), tuple(self._part["cls"])))


class ByteLevel(PostProcessor):
    defaults = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    add_prefix_space = Key[bool]()
    trim_offsets = Key[bool]()
    use_regex = Key[bool]()

    def __init__(
        self,
        add_prefix_space: Optional[bool] = None,
        trim_offsets: Optional[bool] = None,
        use_regex: Optional[bool] = None,
        **_: Any,
    ) -> None:
        given = {"add_prefix_space": add_prefix_space, "trim_offsets": trim_offsets, "use_regex": use_regex}
        self._set(**{key: True if value is None else value for key, value in given.items()})

    def _steps(self) -> tuple[Step, ...]:
        return (TrimOffsets(self.add_prefix_space if self.trim_offsets else None, True),)


class TemplateProcessing(PostProcessor):
    """Puts special tokens around texts.

    Parameters
    ----------
    single, pair
        A template as one text or a list of its elements: `$A` and `$B` are the texts, everything else is a special
        token, and `:1` sets the type id.
    special_tokens
        (token, id) for each special token, or a dict with "id", "ids" and "tokens".
    """

    defaults = {"single": [], "pair": [], "special_tokens": {}}

    def __init__(
        self,
        single: Union[str, Iterable[str], None] = None,
        pair: Union[str, Iterable[str], None] = None,
        special_tokens: Optional[Iterable[Any]] = None,
    ) -> None:
        given = {token["id"]: token for token in map(_special_token, special_tokens or ())}
        tokens = dict(sorted(given.items()))
        self._set(
            single=_pieces("$0" if single is None else single),
            pair=_pieces("$A:0 $B:1" if pair is None else pair),
            special_tokens=tokens,
        )
        used = [piece["SpecialToken"]["id"] for piece in self._pieces() if "SpecialToken" in piece]
        missing = sorted({id for id in used if id not in tokens})
        if missing:
            raise ValueError(f"Missing SpecialToken(s) with id(s) `{', '.join(missing)}`")
        if {piece["Sequence"]["id"] for piece in self._part["pair"] if "Sequence" in piece} != {"A", "B"}:
            raise ValueError("Template for `pair` must use both sequences")

    def _pieces(self) -> list[Part]:
        return [*self._part["single"], *self._part["pair"]]

    def _steps(self) -> tuple[Step, ...]:
        return (Template(self._part["single"], self._part["pair"], self._part["special_tokens"]),)


def _pieces(template: Union[str, Iterable[str]]) -> list[Part]:
    elements = template.split() if isinstance(template, str) else template
    return [_piece(element) for element in elements]


def _piece(element: str) -> Part:
    name, colon, type_id = element.partition(":")
    error = ValueError(f'Cannot build Piece from string "{element}"')
    if colon and not type_id.isdecimal():
        raise error
    type_of = int(type_id) if colon else 0
    if not name.startswith("$"):
        return {"SpecialToken": {"id": name, "type_id": type_of}}
    text = name[1:]
    if text.isdecimal():
        return {"Sequence": {"id": "A", "type_id": type_of if colon else int(text)}}
    if text.upper() not in ("", "A", "B"):
        raise error
    return {"Sequence": {"id": text.upper() or "A", "type_id": type_of}}


def _special_token(token: Any) -> Part:
    if isinstance(token, dict):
        return {"id": token["id"], "ids": list(token["ids"]), "tokens": list(token["tokens"])}
    first, second = token
    text, id = (second, first) if isinstance(first, int) else (first, second)
    if not isinstance(text, str) or not isinstance(id, int):
        raise TypeError("a special token must be (token, id) or a dict with id, ids and tokens")
    return {"id": text, "ids": [id], "tokens": [text]}


class Sequence(SequenceOf, PostProcessor):
    key = "processors"

    def __init__(self, processors: Iterable[PostProcessor]) -> None:
        self._set_items(processors)

    def _steps(self) -> tuple[Step, ...]:
        return tuple(step for item in self._items for step in item._steps())  # type: ignore[attr-defined]
