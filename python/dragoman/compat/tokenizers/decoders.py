"""Decoders: descriptions of the decoder of a tokenizer.json."""

from __future__ import annotations

from typing import Any, Iterable, Optional, Sequence as SequenceType, Union

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


class Decoder(Component):
    """The base of all decoders."""

    def decode(self, tokens: SequenceType[str]) -> str:
        """Return the text of tokens."""
        return engine_of(decoder=self._to_part()).decode_tokens(tokens)

    @staticmethod
    def custom(decoder: Any) -> Decoder:
        """Not supported: the engine runs no Python code for a text."""
        raise NotImplementedError("Decoder.custom() is not supported; join Tokenizer.id_to_token() of the ids")


class BPEDecoder(Decoder):
    suffix = Key[str]()

    def __init__(self, suffix: str = "</w>") -> None:
        self._set(suffix=suffix)


class ByteFallback(Decoder):
    def __init__(self) -> None:
        self._set()


class ByteLevel(Decoder):
    defaults = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}

    def __init__(self, **_: Any) -> None:
        self._set(add_prefix_space=True, trim_offsets=True, use_regex=True)


class CTC(Decoder):
    """Can be described, and is refused when a tokenizer decodes."""

    pad_token = Key[str]()
    word_delimiter_token = Key[str]()
    cleanup = Key[bool]()

    def __init__(self, pad_token: str = "<pad>", word_delimiter_token: str = "|", cleanup: bool = True) -> None:
        self._set(pad_token=pad_token, word_delimiter_token=word_delimiter_token, cleanup=cleanup)


class Fuse(Decoder):
    def __init__(self) -> None:
        self._set()


class Metaspace(Decoder):
    replacement = Key[str](check=one_character)
    prepend_scheme = Key[str](check=prepend_scheme)
    split = Key[bool]()

    def __init__(self, replacement: str = "\u2581", prepend_scheme: str = "always", split: bool = True) -> None:
        self._set(replacement=one_character(replacement), prepend_scheme=_scheme(prepend_scheme), split=split)

    def _load(self, part: Part) -> None:
        super()._load(metaspace_part(part))


_scheme = prepend_scheme


class Replace(Decoder):
    pattern = Hidden()
    content = Key[str]()

    def __init__(self, pattern: Union[str, Regex], content: str) -> None:
        self._set(pattern=pattern_part(pattern), content=content)


class Strip(Decoder):
    content = Key[str](check=one_character)
    start = Key[int]()
    stop = Key[int]()

    def __init__(self, content: str = " ", left: int = 0, right: int = 0) -> None:
        self._set(content=one_character(content), start=left, stop=right)


class WordPiece(Decoder):
    prefix = Key[str]()
    cleanup = Key[bool]()

    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        self._set(prefix=prefix, cleanup=cleanup)


class Sequence(SequenceOf, Decoder):
    key = "decoders"

    def __init__(self, decoders: Iterable[Decoder]) -> None:
        self._set_items(decoders)


class DecodeStream:
    """Decodes ids that arrive one by one, as from a model.

    Parameters
    ----------
    ids
        Ids that precede, whose text is not returned.
    skip_special_tokens
        Whether special tokens are left out of the text.

    Examples
    --------
    >>> from dragoman.compat.tokenizers import Tokenizer, decoders
    >>> tokenizer = Tokenizer.from_file("examples/multi30k/model/tokenizer.json")
    >>> stream = decoders.DecodeStream()
    >>> "".join(stream.step(tokenizer, id) or "" for id in tokenizer.encode("Ein Hund").ids)
    'Ein Hund'
    """

    def __init__(self, ids: Optional[Iterable[int]] = None, skip_special_tokens: bool = False) -> None:
        self.skip_special_tokens = skip_special_tokens
        self._ids = [] if ids is None else list(ids)
        self._prefix = ""
        self._prefix_index = 0

    def step(self, tokenizer: Any, id: Union[int, Iterable[int]]) -> Optional[str]:
        """Add an id, or several, and return the text that is now final, or None if there is none."""
        if self._prefix == "" and self._ids:
            prefix = tokenizer.decode(self._ids, self.skip_special_tokens)
            if not prefix.endswith("\ufffd"):
                self._prefix, self._prefix_index = prefix, len(self._ids)
        self._ids += [id] if isinstance(id, int) else list(id)
        text: str = tokenizer.decode(self._ids, self.skip_special_tokens)
        if len(text.encode()) <= len(self._prefix.encode()) or text.endswith("\ufffd"):
            return None
        if not text.startswith(self._prefix):
            raise RuntimeError("Invalid prefix encountered")
        added = text[len(self._prefix) :]
        # The next text begins with the tokens of this step, whose spelling may depend on those before.
        kept = len(self._ids) - self._prefix_index
        self._ids = self._ids[self._prefix_index :]
        self._prefix = tokenizer.decode(self._ids, self.skip_special_tokens)
        self._prefix_index = kept
        return added

    def __copy__(self) -> DecodeStream:
        made = DecodeStream(self._ids, self.skip_special_tokens)
        made._prefix, made._prefix_index = self._prefix, self._prefix_index
        return made
