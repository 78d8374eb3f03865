"""vmap.txt: the target tokens that may occur in translations of source tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from ._conventions import Conventions


class VocabularyMap:
    """Reads the file of a model folder.

    A line has up to several source tokens, a tab, and target tokens. An empty source stands for tokens that are always
    allowed. CTranslate2 allows the tokens of a whole batch in each of its sentences; here a sentence has its own.
    """

    def __init__(self, path: Path, conventions: Conventions) -> None:
        target = conventions.target
        self._rules: dict[tuple[str, ...], list[int]] = {}
        for line in path.read_text(encoding="utf-8").split("\n"):
            source, tab, targets = line.partition("\t")
            if tab:
                key = tuple(source.split(" ")) if source else ()
                self._rules[key] = target.to_ids([token for token in targets.split(" ") if token])
        self._longest = max((len(key) for key in self._rules), default=0)
        self._always = {conventions.unknown, conventions.begin, conventions.end, *self._rules.get((), ())}

    def allowed(self, source: Sequence[str], prefix: Sequence[int]) -> list[int]:
        """Return the ids of the tokens that a translation may have."""
        allowed = self._always | set(prefix)
        for begin in range(len(source)):
            for length in range(1, min(self._longest, len(source) - begin) + 1):
                allowed.update(self._rules.get(tuple(source[begin : begin + length]), ()))
        return sorted(allowed)


def read_vocabulary_map(folder: Path, conventions: Conventions) -> VocabularyMap | None:
    """Return the map of a model folder, or None if it has none."""
    path = folder / "vmap.txt"
    return VocabularyMap(path, conventions) if path.is_file() else None
