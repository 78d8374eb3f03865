"""The parts of a tokenizer, and what is made of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, TypeVar, Union

from ._added_token import AddedToken
from ._checks import choice, size, text, token_id
from ._engine import Engine
from ._parts import Component, component_of
from ._sources import Settings
from ._steps import PaddingOptions, Truncation
from ._text_form import Name, shown
from ._vocabulary import AddedVocabulary
from .decoders import Decoder
from .models import Model
from .normalizers import Normalizer
from .pre_tokenizers import PreTokenizer
from .processors import PostProcessor

PathLike = Union[str, "os.PathLike[str]"]
Self = TypeVar("Self", bound="TokenizerParts")
PartOf = TypeVar("PartOf", bound=Component)


class TokenizerParts:
    """A tokenizer.json as components that can be read and replaced. `Tokenizer` adds what it does with texts."""

    _model: Model

    def _clear(self) -> None:
        self._normalizer: Optional[Normalizer] = None
        self._pre_tokenizer: Optional[PreTokenizer] = None
        self._post_processor: Optional[PostProcessor] = None
        self._decoder: Optional[Decoder] = None
        self._truncation: Optional[Truncation] = None
        self._padding: Optional[PaddingOptions] = None
        self._added = AddedVocabulary()
        self._encode_special = False
        # With what they were made for. A pair is replaced as a whole, because threads may share a tokenizer.
        self._engine: Optional[tuple[tuple[Any, ...], Engine]] = None
        self._settings: Optional[tuple[tuple[Any, ...], Settings]] = None

    # ---- files

    @classmethod
    def _parse(cls: type[Self], content: str) -> Self:
        made = cls.__new__(cls)
        made._clear()
        try:
            made._load(json.loads(content))
        except KeyError as error:
            raise ValueError(f"the tokenizer lacks {error}") from error
        made._current_engine().core()
        return made

    def _load(self, document: dict[str, Any]) -> None:
        if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
            raise ValueError("Model missing: a tokenizer.json is an object with a \"model\"")
        version = document.get("version", "1.0")
        if version != "1.0":
            raise ValueError(f"Unknown tokenizer version {version!r}; the version 1.0 is supported")
        self._model = component_of(Model, {**document["model"], "type": model_type(document["model"])})
        self._normalizer = component_of(Normalizer, document.get("normalizer"))
        self._pre_tokenizer = component_of(PreTokenizer, document.get("pre_tokenizer"))
        self._post_processor = component_of(PostProcessor, document.get("post_processor"))
        self._decoder = component_of(Decoder, document.get("decoder"))
        for token in document.get("added_tokens") or ():
            self._added.add([_added_token(token)], self._model._vocab())
        self._truncation = truncation_of(document.get("truncation"))
        self._padding = padding_of(document.get("padding"))

    @classmethod
    def from_str(cls: type[Self], json: str) -> Self:
        """Make a tokenizer of the content of a tokenizer.json."""
        return cls._parse(json)

    @classmethod
    def from_buffer(cls: type[Self], buffer: Union[bytes, bytearray, memoryview]) -> Self:
        """Make a tokenizer of the content of a tokenizer.json, as bytes."""
        return cls._parse(bytes(memoryview(buffer)).decode())

    @classmethod
    def from_file(cls: type[Self], path: PathLike) -> Self:
        """Open a tokenizer.json."""
        return cls._parse(Path(path).read_text(encoding="utf-8"))

    @classmethod
    def from_pretrained(
        cls: type[Self], identifier: PathLike, revision: str = "main", token: Optional[str] = None
    ) -> Self:
        """Open the tokenizer.json of a folder. Names of the hub are not supported, because nothing is downloaded."""
        file = Path(identifier) / "tokenizer.json"
        if file.is_file():
            return cls.from_file(file)
        raise NotImplementedError(
            f"Tokenizer.from_pretrained({str(identifier)!r}) would download a file; download the tokenizer.json, for "
            "example with huggingface_hub.hf_hub_download(), and use Tokenizer.from_file()"
        )

    def _document(self) -> dict[str, Any]:
        return {
            "version": "1.0",
            "truncation": None if self._truncation is None else self._truncation.part(),
            "padding": None if self._padding is None else self._padding.part(),
            "added_tokens": self._added.part(),
            "normalizer": part_of(self._normalizer),
            "pre_tokenizer": part_of(self._pre_tokenizer),
            "post_processor": part_of(self._post_processor),
            "decoder": part_of(self._decoder),
            "model": self._model._to_part(),
        }

    def to_str(self, pretty: bool = False) -> str:
        """Return the tokenizer as the content of a tokenizer.json."""
        if pretty:
            return json.dumps(self._document(), ensure_ascii=False, indent=2)
        return json.dumps(self._document(), ensure_ascii=False, separators=(",", ":"))

    def save(self, path: PathLike, pretty: bool = True) -> None:
        """Write a tokenizer.json."""
        Path(path).write_text(self.to_str(pretty), encoding="utf-8")

    def __getstate__(self) -> bytes:
        return self.to_str().encode()

    def __setstate__(self, state: bytes) -> None:
        self._clear()
        self._load(json.loads(state))

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.__getstate__())

    def __repr__(self) -> str:
        return self._shown(None)

    def __str__(self) -> str:
        return self._shown(5)

    def _shown(self, limit: Optional[int]) -> str:
        document = self._document()
        if self._truncation is not None:
            strategy = document["truncation"]["strategy"]
            document["truncation"].update(type="TruncationParams", strategy=Name(strategy))
        if self._padding is not None:
            strategy = "BatchLongest" if self._padding.length is None else f"Fixed({self._padding.length})"
            document["padding"].update(type="PaddingParams", strategy=Name(strategy))
        return shown({"type": "Tokenizer", **document}, limit)

    # ---- components

    @property
    def model(self) -> Any:
        """The model. A change of it applies to the next text."""
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        self._model = instance(model, Model)

    @property
    def normalizer(self) -> Any:
        """The normalizer, or None."""
        return self._normalizer

    @normalizer.setter
    def normalizer(self, normalizer: Optional[Normalizer]) -> None:
        self._normalizer = optional(normalizer, Normalizer)

    @property
    def pre_tokenizer(self) -> Any:
        """The pre-tokenizer, or None."""
        return self._pre_tokenizer

    @pre_tokenizer.setter
    def pre_tokenizer(self, pre_tokenizer: Optional[PreTokenizer]) -> None:
        self._pre_tokenizer = optional(pre_tokenizer, PreTokenizer)

    @property
    def post_processor(self) -> Any:
        """The post-processor, or None."""
        return self._post_processor

    @post_processor.setter
    def post_processor(self, post_processor: Optional[PostProcessor]) -> None:
        self._post_processor = optional(post_processor, PostProcessor)

    @property
    def decoder(self) -> Any:
        """The decoder, or None."""
        return self._decoder

    @decoder.setter
    def decoder(self, decoder: Optional[Decoder]) -> None:
        self._decoder = optional(decoder, Decoder)

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in texts are encoded as ordinary text."""
        return self._encode_special

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._encode_special = bool(value)

    def _current_engine(self) -> Engine:
        parts = (self._normalizer, self._pre_tokenizer, self._decoder)
        revisions = [0 if part is None else part._revision() for part in parts]
        key = (self._model._revision(), *revisions, self._added.revision, self._encode_special)
        made = self._engine
        if made is None or made[0] != key:
            document = {
                "added_tokens": self._added.part(),
                "normalizer": part_of(self._normalizer),
                "pre_tokenizer": part_of(self._pre_tokenizer),
                "decoder": part_of(self._decoder),
                "model": self._model._to_part(),
            }
            made = self._engine = (key, Engine(document, not self._encode_special))
        return made[1]

    def _current_settings(self) -> Settings:
        engine, processor = self._current_engine(), self._post_processor
        revision = 0 if processor is None else processor._revision()
        key = (engine, revision, self._truncation, self._padding)
        made = self._settings
        if made is None or made[0] != key:
            steps = None if processor is None else processor._steps()
            made = self._settings = (key, Settings(engine, steps, key[2], key[3]))
        return made[1]


def instance(value: Any, family: type[PartOf]) -> PartOf:
    if not isinstance(value, family):
        raise TypeError(f"'{type(value).__name__}' object is not an instance of '{family.__name__}'")
    return value


def optional(value: Any, family: type[PartOf]) -> Optional[PartOf]:
    return None if value is None else instance(value, family)


def part_of(component: Optional[Component]) -> Optional[dict[str, Any]]:
    return None if component is None else component._to_part()


def model_type(part: dict[str, Any]) -> str:
    """Return the type of a model; old files do not name it."""
    if "type" in part:
        return str(part["type"])
    if "merges" in part:
        return "BPE"
    if isinstance(part.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "continuing_subword_prefix" in part else "WordLevel"


def truncation_of(part: Optional[dict[str, Any]]) -> Optional[Truncation]:
    if part is None:
        return None
    strategies = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
    strategy = choice(part.get("strategy", "LongestFirst"), "strategy", ", ".join(strategies), list(strategies))
    return Truncation(
        size(part["max_length"], "max_length"),
        size(part.get("stride", 0), "stride"),
        strategies[strategy],  # type: ignore[arg-type]
        _direction(part),
    )


def padding_of(part: Optional[dict[str, Any]]) -> Optional[PaddingOptions]:
    if part is None:
        return None
    strategy, multiple = part.get("strategy", "BatchLongest"), part.get("pad_to_multiple_of")
    fixed = isinstance(strategy, dict)
    if not fixed:
        choice(strategy, "strategy", "BatchLongest and Fixed", ["BatchLongest"])
    return PaddingOptions(
        size(strategy["Fixed"], "Fixed") if fixed else None,
        None if multiple is None else size(multiple, "pad_to_multiple_of"),
        token_id(part.get("pad_id", 0), "pad_id"),
        text(part.get("pad_token", "[PAD]"), "pad_token"),
        token_id(part.get("pad_type_id", 0), "pad_type_id"),
        _direction(part),
    )


def _direction(part: dict[str, Any]) -> Any:
    return choice(part.get("direction", "Right"), "direction", "Left and Right", ["Left", "Right"]).lower()


def _added_token(part: Any) -> AddedToken:
    if not isinstance(part, dict) or not isinstance(part.get("content"), str):
        raise ValueError(f"the added token {part!r} must be an object with a \"content\"")
    token_id(part.get("id"), f"the id of the added token {part['content']!r}")
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    given = {key: value for key, value in part.items() if key in flags}
    for key, value in given.items():
        if not isinstance(value, bool):
            raise ValueError(f"{key!r} of the added token {part['content']!r} is {value!r}; it must be true or false")
    return AddedToken(part["content"], **given)


def _revive(cls: type[Self], state: bytes) -> Self:
    made = cls.__new__(cls)
    made.__setstate__(state)
    return made
