"""Normalizers: descriptions of the normalizer of a tokenizer.json."""

from __future__ import annotations

import base64
from typing import Any, Iterable, Optional, Union

from ._parts import Component, Hidden, Key, Regex, SequenceOf, engine_of, pattern_part
from ._strings import NormalizedString


class Normalizer(Component):
    """The base of all normalizers."""

    def normalize_str(self, sequence: str) -> str:
        """Return the normalised text."""
        return engine_of(normalizer=self._to_part()).normalize(sequence)

    def normalize(self, normalized: NormalizedString) -> None:
        """Not supported: use `normalize_str`."""
        raise NotImplementedError("Normalizer.normalize() is not supported; normalize_str() covers it")

    @staticmethod
    def custom(normalizer: Any) -> Normalizer:
        """Not supported: the engine runs no Python code for a text."""
        raise NotImplementedError("Normalizer.custom() is not supported; normalise texts before Tokenizer.encode()")


class BertNormalizer(Normalizer):
    clean_text = Key[bool]()
    handle_chinese_chars = Key[bool]()
    strip_accents = Key[Optional[bool]]()
    lowercase = Key[bool]()

    def __init__(
        self,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: Optional[bool] = None,
        lowercase: bool = True,
    ) -> None:
        self._set(
            clean_text=clean_text,
            handle_chinese_chars=handle_chinese_chars,
            strip_accents=strip_accents,
            lowercase=lowercase,
        )


class ByteLevel(Normalizer):
    def __init__(self) -> None:
        self._set()


class Lowercase(Normalizer):
    def __init__(self) -> None:
        self._set()


class NFC(Normalizer):
    def __init__(self) -> None:
        self._set()


class NFD(Normalizer):
    def __init__(self) -> None:
        self._set()


class NFKC(Normalizer):
    def __init__(self) -> None:
        self._set()


class NFKD(Normalizer):
    def __init__(self) -> None:
        self._set()


class Nmt(Normalizer):
    def __init__(self) -> None:
        self._set()


class StripAccents(Normalizer):
    def __init__(self) -> None:
        self._set()


class Precompiled(Normalizer):
    def __init__(self, precompiled_charsmap: bytes) -> None:
        self._set(precompiled_charsmap=base64.b64encode(bytes(precompiled_charsmap)).decode())


class Prepend(Normalizer):
    prepend = Key[str]()

    def __init__(self, prepend: str = "\u2581") -> None:
        self._set(prepend=prepend)


class Replace(Normalizer):
    pattern = Hidden()
    content = Key[str]()

    def __init__(self, pattern: Union[str, Regex], content: str) -> None:
        self._set(pattern=pattern_part(pattern), content=content)


class Strip(Normalizer):
    left = Key[bool]("strip_left")
    right = Key[bool]("strip_right")

    def __init__(self, left: bool = True, right: bool = True) -> None:
        self._set(strip_left=left, strip_right=right)


class Sequence(SequenceOf, Normalizer):
    key = "normalizers"

    def __init__(self, normalizers: Iterable[Normalizer]) -> None:
        self._set_items(normalizers)


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """Return the normalizer with the name nfc, nfd, nfkc or nfkd."""
    if normalizer not in NORMALIZERS:
        raise ValueError(f"{normalizer} is not a known unicode normalizer. Available are {list(NORMALIZERS)}")
    return NORMALIZERS[normalizer]()


NORMALIZERS: dict[str, type[Normalizer]] = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}
__all__ = [
    "BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Normalizer", "Precompiled",
    "Prepend", "Replace", "Sequence", "Strip", "StripAccents", "unicode_normalizer_from_str",
]  # fmt: skip
