"""SentencePieceNormalizer."""

from __future__ import annotations

import functools
import struct
from pathlib import Path
from typing import Any, Iterable

import numpy as np

from ... import _core
from ...errors import Error
from ._messages import DecodeError
from ._model import LoadError
from ._texts import normalize
from .sentencepiece_model_pb2 import ModelProto, NormalizerSpec


def _read(path: Any) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise LoadError(f"Not found: {path}: {error.strerror}") from error


@functools.lru_cache(maxsize=8)
def character_map(name: str) -> bytes:
    """Return the serialised rules of SentencePiece with this name."""
    try:
        return bytes(_core.make_character_map(name))
    except Error as error:
        raise RuntimeError(str(error)) from error


def character_map_of_file(path: Any) -> bytes:
    """Return the serialised rules of a file in the format of normalization_rule_tsv."""
    try:
        return bytes(_core.make_character_map_of_rules(_read(path), str(path)))
    except Error as error:
        raise RuntimeError(str(error)) from error


def _checked_text(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{text!r} is not valid UTF-8") from error


def _character_map_of_pairs(pairs: Iterable[tuple[str | bytes, str | bytes]]) -> bytes:
    rules: dict[str, str] = {}
    for left, right in pairs:
        source, target = _checked_text(left), _checked_text(right)
        if not source:
            raise ValueError("a rule replaces the empty text")
        if source == target:
            raise ValueError(f"the rule for {source!r} changes nothing")
        if source in rules:
            raise ValueError(f"there are two rules for {source!r}")
        rules[source] = target
    lines = ("\t".join(" ".join(f"{ord(c):X}" for c in text) for text in rule) for rule in sorted(rules.items()))
    try:
        return bytes(_core.make_character_map_of_rules("".join(f"{line}\n" for line in lines), "norm_map"))
    except Error as error:
        raise RuntimeError(str(error)) from error


def _decompiled(serialized: bytes) -> list[tuple[str, str]]:
    """Return the rules of a character map: a double array of units (Aoe 1989), and the texts that it points to."""
    if not serialized:
        return []
    (size,) = struct.unpack_from("<I", serialized)
    units = np.frombuffer(serialized, "<u4", size // 4, 4)
    texts = serialized[4 + size :]
    labels = np.arange(1, 256, dtype=np.uint32)
    found = []
    open_nodes = [(0, b"")]
    while open_nodes:
        place, prefix = open_nodes.pop()
        unit = int(units[place])
        base = place ^ ((unit >> 10) << ((unit & 0x200) >> 6))
        if unit >> 8 & 1:
            begin = int(units[base]) & 0x7FFFFFFF
            end = texts.index(b"\0", begin)
            found.append((prefix.decode("utf-8", "replace"), texts[begin:end].decode("utf-8", "replace")))
        places = base ^ labels
        inside = places < len(units)
        children = labels[inside][(units[places[inside]] & np.uint32(0x800000FF)) == labels[inside]]
        open_nodes += [(base ^ label, prefix + bytes((label,))) for label in children.tolist()]
    return sorted(found)


class SentencePieceNormalizer:
    """Normalises texts by the rules of a model, or by rules of its own.

    Parameters
    ----------
    model_file, model_proto, normalizer_spec
        A model with the rules, its content, or the serialised NormalizerSpec.
    rule_tsv, rule_name, norm_map
        A file of rules, the name of SentencePiece's own (nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf, identity), or pairs of
        a text and its replacement.
    add_dummy_prefix, escape_whitespaces, remove_extra_whitespaces
        How spaces are treated; by default as the rules' source says, or else True.

    Examples
    --------
    >>> from dragoman.compat import sentencepiece as spm
    >>> spm.SentencePieceNormalizer(rule_name="nfkc_cf").normalize("ＡＢＣ  d")
    '▁abc▁d'
    """

    def __init__(
        self,
        model_file: Any = None,
        model_proto: Any = None,
        normalizer_spec: Any = None,
        rule_tsv: Any = None,
        rule_name: str | None = None,
        norm_map: Any = None,
        add_dummy_prefix: bool | None = None,
        escape_whitespaces: bool | None = None,
        remove_extra_whitespaces: bool | None = None,
    ) -> None:
        spec = NormalizerSpec()
        if model_file:
            spec = self._spec_of_model(_read(model_file))
        elif model_proto:
            spec = self._spec_of_model(_serialized(model_proto))
        elif normalizer_spec:
            spec = NormalizerSpec.FromString(_serialized(normalizer_spec))
        elif rule_tsv:
            spec.name, spec.precompiled_charsmap = "user_defined", character_map_of_file(rule_tsv)
        elif rule_name:
            spec.name, spec.precompiled_charsmap = rule_name, character_map(rule_name)
        elif norm_map:
            spec.name, spec.precompiled_charsmap = "user_defined", _character_map_of_pairs(norm_map)
        else:
            raise ValueError("no model is specified")
        for name, value in (
            ("add_dummy_prefix", add_dummy_prefix),
            ("escape_whitespaces", escape_whitespaces),
            ("remove_extra_whitespaces", remove_extra_whitespaces),
        ):
            if value is not None:
                setattr(spec, name, value)
        self._set(spec)

    @staticmethod
    def _spec_of_model(data: bytes) -> Any:
        try:
            return ModelProto.FromString(data).normalizer_spec
        except DecodeError as error:
            raise LoadError(f"not a SentencePiece model: {error}") from error

    def _set(self, spec: Any) -> None:
        self._spec = spec
        self._normalizer = _core.TextNormalizer(
            spec.precompiled_charsmap,
            spec.add_dummy_prefix,
            spec.remove_extra_whitespaces,
            spec.escape_whitespaces,
            False,
            (),
        )

    def Normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Return the normalised text, and the offsets in the original text if `with_offsets` is set."""
        return normalize(self._normalizer, input, with_offsets)

    def Decompile(self) -> list[tuple[str, str]]:
        """Return the rules as pairs of a text and its replacement."""
        return _decompiled(self._spec.precompiled_charsmap)

    normalize = Normalize
    decompile = Decompile

    def serialized_normalizer_spec(self) -> bytes:
        """Return the serialised NormalizerSpec."""
        return bytes(self._spec.SerializeToString())

    def serialized_model_proto(self) -> bytes:
        """Return a serialised ModelProto that has only the NormalizerSpec."""
        model = ModelProto()
        model.normalizer_spec.CopyFrom(self._spec)
        return model.SerializeToString()

    def __getstate__(self) -> bytes:
        return self.serialized_model_proto()

    def __setstate__(self, state: bytes) -> None:
        self._set(self._spec_of_model(state))


def _serialized(value: Any) -> bytes:
    return bytes(value.SerializeToString() if hasattr(value, "SerializeToString") else value)
