"""The engine of a tokenizer: what `dragoman._core` offers for a tokenizer.json, opened when it is first used."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import Any, Iterable, Iterator, Optional, Sequence

import numpy as np
import numpy.typing as npt

from dragoman import _core
from dragoman.errors import BadInputError

from ._checks import several
from ._plan import Offset

#: ids, offsets, words, and the tokens that are shown differently from their piece, by position.
Details = tuple[list[int], list[Offset], list[int], dict[int, str]]


def _ignore(level: str, message: str) -> None:
    """Ignore warnings: truncation, padding and dropout, which the file given to the engine does not contain."""


class Engine:
    """A tokenizer.json with a fixed content. Thread-safe.

    Parameters
    ----------
    document
        The file without post-processor, truncation and padding, which are applied in Python.
    match_special_tokens
        Whether special tokens are recognised in texts.
    """

    def __init__(self, document: dict[str, Any], match_special_tokens: bool = True) -> None:
        model = document["model"]
        self.dropout = float(model.get("dropout") or 0.0)
        if self.dropout:
            document = {**document, "model": {**model, "dropout": None}}
        self._document: Optional[dict[str, Any]] = {"version": "1.0", "post_processor": None, **document}
        self._lock = threading.Lock()
        self._core: Optional[_core.LibraryTokenizer] = None
        self._ids: Optional[_core.Tokenizer] = None
        self._pieces: Optional[list[str]] = None
        self._seed = 0
        self._match = match_special_tokens
        self._lacks_unknown = model["type"] == "Unigram" and model["unk_id"] is None
        self._exact = _core.EncodeOptions("exact", 0.0, 0.1, 0, 0, 0, match_special_tokens)

    def core(self) -> _core.LibraryTokenizer:
        """Return the engine. Raises what it raises for parts that it cannot reproduce."""
        core = self._core
        if core is None:
            with self._lock:
                if self._core is None:
                    content = json.dumps(self._document, ensure_ascii=False)
                    made = _core.LibraryTokenizer.parse(content, "tokenizer.json", _ignore)
                    self._check_ids(made)
                    self._core = made
                    self._document = None
                core = self._core
        return core

    def _check_ids(self, core: _core.LibraryTokenizer) -> None:
        """Refuse added tokens whose ids the model gives to other tokens, since it was set or trained after them."""
        ids = core.ids()
        for token in (self._document or {}).get("added_tokens") or ():
            if ids.id(token["content"]) != token["id"]:
                raise ValueError(
                    f"the added token {token['content']!r} has the id {token['id']}, which is not free in the model; "
                    "set or train the model first, then add tokens"
                )

    def ids(self) -> _core.Tokenizer:
        if self._ids is None:
            self._ids = self.core().ids()
        return self._ids

    def pieces(self) -> list[str]:
        """Return the tokens by id."""
        if self._pieces is None:
            self._pieces = self.ids().pieces()
        return self._pieces

    def _options(self) -> _core.EncodeOptions:
        if not self.dropout:
            return self._exact
        with self._lock:
            self._seed += 1
        return _core.EncodeOptions("dropout", self.dropout, 0.1, 0, self._seed, 0, self._match)

    def encode_batch(self, texts: Sequence[str], threads: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the ids of all texts, and where those of each begin."""
        with self._errors():
            ids, ends = self.ids().encode_batch(texts, threads, self._exact)
        return ids, ends

    def details(self, text: str) -> Details:
        with self._errors():
            ids, offsets, words, texts = self.core().encode(text, self._options())
        spans: list[Offset] = list(zip(offsets[:, 0].tolist(), offsets[:, 1].tolist()))
        return ids.tolist(), spans, words.tolist(), dict(texts)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise the error that programs know if there is no piece for unknown characters."""
        try:
            yield
        except BadInputError as error:
            if not self._lacks_unknown:
                raise
            raise ValueError("Encountered an unknown token but `unk_id` is missing") from error

    def words(self, text: str) -> list[tuple[str, Offset]]:
        """Return the words of a text with their offsets."""
        words: list[tuple[str, Offset]] = self.core().words(text, self._exact)
        return words

    def normalize(self, text: str) -> str:
        return self.core().normalize(text)

    def decode(self, ids: Iterable[int], skip_special_tokens: bool) -> str:
        """Return the text of ids. Ids that no token has are ignored; negative ones are refused."""
        given = several(ids, "ids")
        if not isinstance(given, (list, tuple, np.ndarray)):
            given = list(given)
        if len(given) > 0 and min(given) < 0:
            raise OverflowError(f"an id is {min(given)}; ids must not be negative")
        return self.core().decode(given, not skip_special_tokens)

    def decode_tokens(self, tokens: Sequence[str]) -> str:
        return self.core().decode_texts(list(several(tokens, "tokens")))
