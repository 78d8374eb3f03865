"""Pre-tokenizers: descriptions of the pre-tokenizer of a tokenizer.json."""

from __future__ import annotations

from typing import Any, Iterable, Union

from ._parts import (
    Component,
    Hidden,
    Key,
    Part,
    Regex,
    SequenceOf,
    engine_of,
    metaspace_part,
    one_character,
    pattern_part,
    prepend_scheme,
)
from ._strings import PreTokenizedString

_BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}


def _behavior(value: Any) -> str:
    name = getattr(value, "value", value)
    if name not in _BEHAVIORS:
        raise ValueError(f"Wrong value for SplitDelimiterBehavior, expected one of: `{', '.join(_BEHAVIORS)}`")
    return _BEHAVIORS[name]


class _Behavior(Key[str]):
    """A behavior, which Python spells differently from the part."""

    def __init__(self) -> None:
        super().__init__("behavior", _behavior)

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return next(name for name, value in _BEHAVIORS.items() if value == instance._part["behavior"])


class PreTokenizer(Component):
    """The base of all pre-tokenizers."""

    def pre_tokenize_str(self, sequence: str) -> list[tuple[str, tuple[int, int]]]:
        """Return the words of a text, and the characters of each."""
        return engine_of(pre_tokenizer=self._to_part()).words(sequence)

    def pre_tokenize(self, pretok: PreTokenizedString) -> None:
        """Not supported: use `pre_tokenize_str`."""
        raise NotImplementedError("PreTokenizer.pre_tokenize() is not supported; pre_tokenize_str() covers it")

    @staticmethod
    def custom(pretok: Any) -> PreTokenizer:
        """Not supported: the engine runs no Python code for a text."""
        raise NotImplementedError(
            "PreTokenizer.custom() is not supported; split texts before Tokenizer.encode(words, is_pretokenized=True)"
        )


class BertPreTokenizer(PreTokenizer):
    def __init__(self) -> None:
        self._set()


class ByteLevel(PreTokenizer):
    defaults = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    add_prefix_space = Key[bool]()
    trim_offsets = Key[bool]()
    use_regex = Key[bool]()

    def __init__(
        self, add_prefix_space: bool = True, trim_offsets: bool = True, use_regex: bool = True, **_: Any
    ) -> None:
        self._set(add_prefix_space=add_prefix_space, trim_offsets=trim_offsets, use_regex=use_regex)

    @staticmethod
    def alphabet() -> list[str]:
        """Return the 256 characters that spell bytes."""
        return list(byte_alphabet().values())


def byte_alphabet() -> dict[int, str]:
    """Return the character of GPT-2's alphabet for each byte."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in kept]
    return {**{byte: chr(byte) for byte in kept}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


class CharDelimiterSplit(PreTokenizer):
    delimiter = Key[str](check=one_character)

    def __init__(self, delimiter: str) -> None:
        self._set(delimiter=one_character(delimiter))


class Digits(PreTokenizer):
    individual_digits = Key[bool]()

    def __init__(self, individual_digits: bool = False) -> None:
        self._set(individual_digits=individual_digits)


class FixedLength(PreTokenizer):
    """Can be described, and is refused when a tokenizer is used."""

    length = Key[int]()

    def __init__(self, length: int = 5) -> None:
        self._set(length=length)


class Metaspace(PreTokenizer):
    replacement = Key[str](check=one_character)
    prepend_scheme = Key[str](check=prepend_scheme)
    split = Key[bool]()

    def __init__(self, replacement: str = "\u2581", prepend_scheme: str = "always", split: bool = True) -> None:
        self._set(replacement=one_character(replacement), prepend_scheme=_scheme(prepend_scheme), split=split)

    def _load(self, part: Part) -> None:
        super()._load(metaspace_part(part))


_scheme = prepend_scheme


class Punctuation(PreTokenizer):
    defaults = {"behavior": "Isolated"}
    behavior = _Behavior()

    def __init__(self, behavior: Any = "isolated") -> None:
        self._set(behavior=_behavior(behavior))


class Split(PreTokenizer):
    pattern = Hidden()
    behavior = _Behavior()
    invert = Key[bool]()

    def __init__(self, pattern: Union[str, Regex], behavior: Any, invert: bool = False) -> None:
        self._set(pattern=pattern_part(pattern), behavior=_behavior(behavior), invert=invert)


class UnicodeScripts(PreTokenizer):
    """Can be described, and is refused when a tokenizer is used."""

    def __init__(self) -> None:
        self._set()


class Whitespace(PreTokenizer):
    def __init__(self) -> None:
        self._set()


class WhitespaceSplit(PreTokenizer):
    def __init__(self) -> None:
        self._set()


class Sequence(SequenceOf, PreTokenizer):
    key = "pretokenizers"

    def __init__(self, pretokenizers: Iterable[PreTokenizer]) -> None:
        self._set_items(pretokenizers)
