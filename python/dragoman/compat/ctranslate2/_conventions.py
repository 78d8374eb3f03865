"""The tokens of a model as CTranslate2 counts them: vocabularies, special tokens, tokens around a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Sequence

import dragoman


class Vocabulary:
    """The tokens of one side."""

    __slots__ = ("end", "ids", "tokens", "unknown")

    def __init__(self, tokenizer: dragoman.Tokenizer, unknown: int, end: int) -> None:
        self.tokens: list[str] = tokenizer.tokens()
        self.ids: dict[str, int] = {}
        for index, token in enumerate(self.tokens):
            self.ids.setdefault(token, index)
        self.unknown = unknown
        self.end = end

    def to_ids(self, tokens: Sequence[str]) -> list[int]:
        """Return the ids; a token outside the vocabulary becomes the unknown token."""
        get, unknown = self.ids.get, self.unknown
        return [get(token, unknown) for token in tokens]

    def known_ids(self, tokens: Sequence[str]) -> list[int]:
        """Return the ids; a token outside the vocabulary is a ValueError."""
        for token in tokens:
            if token not in self.ids:
                raise ValueError(f"Token {token} is not in the vocabulary")
        return [self.ids[token] for token in tokens]

    def to_tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the tokens."""
        tokens = self.tokens
        return [tokens[index] for index in ids]


class Conventions:
    """Vocabularies and special tokens of a model."""

    def __init__(self, model: dragoman.Model, folder: Path) -> None:
        config = model.config
        sequences = config["sequences"]
        self.end: int = sequences["end"]
        self.begin: int = sequences["begin"]
        self.unknown: int = sequences["unknown"]
        self.source = Vocabulary(model.source_tokenizer, self.unknown, self.end)
        target = model.target_tokenizer
        self.target = Vocabulary(target, self.unknown, self.end)
        always = config.get("languages", {}).get("always", {})
        self.source_begin: list[int] = always.get("source_prefix", [])
        self.source_end: bool = always.get("source_end", True)
        # Whether a source may have the end already. Importers add it to models whose users do.
        self._is_told = False
        told = _read_config(folder)
        if "add_source_eos" in told:
            self._is_told = True
            self.source_end = bool(told["add_source_eos"])
        self.end_token = self.target.tokens[self.end]

    def source_ids(self, tokens: Sequence[str], max_length: int) -> list[int]:
        """Return the input of the encoder, at most `max_length` tokens (0: no limit)."""
        ids = self.source_begin + self.source.to_ids(tokens)
        if self.adds_end(tokens):
            ids.append(self.end)
        return self.cut(ids, max_length)

    def adds_end(self, tokens: Sequence[str]) -> bool:
        """Return whether the model adds the end to a source."""
        return self.source_end and (self._is_told or not tokens or tokens[-1] != self.source.tokens[self.end])

    def cut(self, ids: list[int], max_length: int) -> list[int]:
        """Cut a sequence, but keep its end, and a tag after the end."""
        if 0 < max_length < len(ids):
            if ids[-1] == self.end:
                ids[max_length - 1] = self.end
            elif ids[-2] == self.end and max_length >= 2:
                ids[max_length - 2] = self.end
                ids[max_length - 1] = ids[-1]
            del ids[max_length:]
        return ids

    def has_content(self, tokens: Sequence[str]) -> bool:
        """Return whether a source has tokens besides special ones."""
        special = (self.source.tokens[self.begin], self.source.tokens[self.end])
        if len(tokens) <= 1:
            return len(tokens) == 1 and tokens[0] not in special
        length = len(tokens) - (tokens[0] == special[0])
        if tokens[-1] == special[1]:
            length -= 1
        elif tokens[-2] == special[1]:  # a tag of a language is last
            length -= 2
        return length > 0


def _read_config(folder: Path) -> dict[str, object]:
    """Return the content of a CTranslate2 folder's config.json; empty if there is none."""
    path = folder / "config.json"
    if not path.is_file() or not (folder / "model.bin").is_file():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}
