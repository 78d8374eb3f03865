"""Test sets. There are none here: each use says so."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NoReturn


def no_test_sets() -> NoReturn:
    """Raise the error of everything that needs a catalogue of test sets."""
    raise NotImplementedError(
        "Dragoman has no catalogue of test sets and downloads nothing; fetch the files with the program sacrebleu "
        "(`sacrebleu -t wmt24 -l en-de --echo ref`) and pass the texts"
    )


class _NoTestSets(Mapping[str, Any]):
    def __getitem__(self, name: str) -> NoReturn:
        no_test_sets()

    def __iter__(self) -> Iterator[str]:
        no_test_sets()

    def __len__(self) -> int:
        no_test_sets()

    def __repr__(self) -> str:
        return "<no test sets>"


DATASETS: Mapping[str, Any] = _NoTestSets()
SUBSETS: Mapping[str, Any] = _NoTestSets()
DOMAINS: Mapping[str, Any] = _NoTestSets()
COUNTRIES: Mapping[str, Any] = _NoTestSets()
