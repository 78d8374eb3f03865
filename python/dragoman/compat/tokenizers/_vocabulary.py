"""The tokens that a tokenizer has in addition to its model."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ._added_token import AddedToken


class AddedVocabulary:
    """Added tokens by text and by id."""

    __slots__ = ("ids", "tokens", "revision")

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.tokens: dict[int, AddedToken] = {}
        self.revision = 0

    def add(self, tokens: Sequence[AddedToken], vocab: Mapping[str, int]) -> int:
        """Add tokens, and return how many were new or changed. A token of the vocabulary keeps its id."""
        added = 0
        for token in tokens:
            known = self.ids.get(token.content)
            if not token.content or (known is not None and self.tokens[known] == token):
                continue
            id = self._next_id(vocab) if known is None else known
            if known is None and token.content in vocab:
                id = vocab[token.content]
            self.ids[token.content] = id
            self.tokens[id] = token._copy()
            added += 1
        self.revision += 1
        return added

    def _next_id(self, vocab: Mapping[str, int]) -> int:
        return max(len(vocab), max(self.ids.values(), default=-1) + 1)

    def part(self) -> list[dict[str, Any]]:
        """Return the part "added_tokens" of a tokenizer.json."""
        return [{"id": id, **token._fields()} for id, token in sorted(self.tokens.items())]
