"""A replacement for the package youtokentome 1.0.6.

Model files are those of YouTokenToMe, in both directions, and ids are equal for the same file. A vocabulary that is
learned here differs from one of YouTokenToMe where several pairs are equally frequent: YouTokenToMe takes the one that
its hash table happens to hold first, Dragoman always the one with the smallest ids. The characters have other ids, too.
The numbers of pieces, the special ids and the form of the file are the same.

The command `yttm` is `python -m dragoman.compat.youtokentome`.
"""

from __future__ import annotations

import operator
import random
from enum import Enum
from pathlib import Path
from typing import Any, Collection, Iterable, List, Optional, Sequence, Union

from dragoman import Tokenizer, _core, learn_bpe
from dragoman._temporary import temporary_folder
from dragoman.errors import Error

__all__ = ["BPE", "OutputType"]

_SPECIAL = {"unk_id": "<UNK>", "pad_id": "<PAD>", "bos_id": "<BOS>", "eos_id": "<EOS>"}
_MARK = "\u2581"


class OutputType(Enum):
    """What BPE.encode() returns."""

    ID = 1
    SUBWORD = 2


class BPE:
    """A tokenizer from a model file of YouTokenToMe.

    Parameters
    ----------
    model
        The file.
    n_threads
        The threads that encode several sentences; -1 for all that the process may use.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> text, model = folder.name + "/text", folder.name + "/model"
    >>> size = open(text, "w").write("low lower lowest\\n" * 10)
    >>> bpe = BPE.train(text, model, vocab_size=20)
    >>> bpe.encode(["low lowest"], output_type=OutputType.SUBWORD)
    [['▁low', '▁lowest']]
    >>> bpe.decode(bpe.encode(["low lowest"]))
    ['low lowest']
    """

    def __init__(self, model: str, n_threads: int = -1) -> None:
        n_threads = operator.index(n_threads)
        if n_threads < -1 or n_threads == 0:
            raise ValueError(f"n_threads is {n_threads}; it must be -1 or a positive number")
        self.model = model
        self.n_threads = n_threads
        self._load()

    def _load(self) -> None:
        try:
            self._tokenizer = Tokenizer(self.model, type="youtokentome")
        except OSError as error:
            raise ValueError(str(error)) from error
        self._pieces = self._tokenizer.tokens()
        self._ids = {piece: id for id, piece in enumerate(self._pieces)}
        self._texts = [" " + piece[1:] if piece.startswith(_MARK) else piece for piece in self._pieces]

    @staticmethod
    def train(
        data: str,
        model: str,
        vocab_size: int,
        coverage: float = 1.0,
        n_threads: int = -1,
        pad_id: int = 0,
        unk_id: int = 1,
        bos_id: int = 2,
        eos_id: int = 3,
    ) -> BPE:
        """Learn a vocabulary, write it to a file, and return the tokenizer.

        Parameters
        ----------
        data
            A text file.
        model
            The file to write.
        vocab_size
            The number of pieces in all.
        coverage
            The share of the text's characters that become pieces. No piece contains another character; YouTokenToMe
            removes such characters from the text before it learns.
        n_threads
            -1: all that the process may use. The result does not depend on it.
        pad_id, unk_id, bos_id, eos_id
            The ids of the special pieces. -1 leaves one out, except for unk_id.
        """
        ids = {"unk_id": unk_id, "pad_id": pad_id, "bos_id": bos_id, "eos_id": eos_id}
        _check(ids, vocab_size, coverage)
        wanted = sorted((id, _SPECIAL[name]) for name, id in ids.items() if id != -1)
        try:
            learned = learn_bpe(
                data,
                vocab_size=vocab_size,
                character_coverage=coverage,
                threads=max(n_threads, 0),
                min_frequency=1,
                special_tokens=[name for _, name in wanted],
                byte_fallback=False,
                written_as="youtokentome",
            )
        except Error as error:
            raise ValueError(str(error)) from error
        with temporary_folder() as folder:
            file = folder / "model"
            learned.save(file, kind="youtokentome")
            content = file.read_text(encoding="ascii")
        Path(model).write_text(_renumbered(content, [id for id, _ in wanted]), encoding="ascii")
        return BPE(model, n_threads)

    def encode(
        self,
        sentences: Union[str, Sequence[str]],
        output_type: OutputType = OutputType.ID,
        bos: bool = False,
        eos: bool = False,
        reverse: bool = False,
        dropout_prob: float = 0,
    ) -> Any:
        """Return the ids or the pieces of sentences, a list for each; of one str, its list.

        Parameters
        ----------
        sentences
            A str, or several.
        output_type
            OutputType.ID or OutputType.SUBWORD.
        bos, eos
            Whether to add the special pieces `<BOS>` and `<EOS>`.
        reverse
            Whether to reverse each list.
        dropout_prob
            The probability that a merge is skipped (BPE-dropout). The draws follow Python's `random.seed()`.
        """
        if not isinstance(output_type, OutputType):
            raise TypeError(f"parameter output_type must be youtokentome.OutputType, not {type(output_type)}")
        if not 0 <= dropout_prob <= 1:
            raise ValueError(f"dropout_prob is {dropout_prob}; it must be in the range [0, 1]")
        for wanted, name in ((bos, "<BOS>"), (eos, "<EOS>")):
            if wanted and name not in self._ids:
                raise ValueError(f"the model was trained without {name}, so it cannot be added")
        if isinstance(sentences, str):
            return self._encode([sentences], output_type, bos, eos, reverse, dropout_prob)[0]
        assert isinstance(sentences, (list, tuple))
        return self._encode(sentences, output_type, bos, eos, reverse, dropout_prob)

    def _encode(
        self, sentences: Sequence[str], output_type: OutputType, bos: bool, eos: bool, reverse: bool, dropout: float
    ) -> List[List[Any]]:
        mode, seed = ("dropout", random.getrandbits(63)) if dropout else ("exact", 0)
        encoded: List[List[Any]] = self._tokenizer.encode_batch(
            sentences, threads=max(self.n_threads, 0), mode=mode, dropout=dropout, seed=seed
        ).tolist()
        first: List[Any] = ["<BOS>"] if bos else []
        last: List[Any] = ["<EOS>"] if eos else []
        if output_type is OutputType.SUBWORD:
            unknown, pieces = self._ids["<UNK>"], self._pieces
            for i, ids in enumerate(encoded):
                if unknown in ids:  # a run of characters without a piece is itself
                    options = _core.EncodeOptions(mode, dropout, 0.1, 0, seed, i, False)
                    encoded[i] = self._tokenizer._core.encode_as_text(sentences[i], options)
                else:
                    encoded[i] = [pieces[id] for id in ids]
        else:
            first = [self._ids[each] for each in first]
            last = [self._ids[each] for each in last]
        if first or last:
            encoded = [first + each + last for each in encoded]
        return [each[::-1] for each in encoded] if reverse else encoded

    def decode(
        self, ids: Union[List[int], List[List[int]]], ignore_ids: Optional[Collection[int]] = None
    ) -> List[str]:
        """Return the texts of lists of ids.

        Parameters
        ----------
        ids
            A list of ids, or several.
        ignore_ids
            Ids to leave out; others of special pieces become `<BOS>` and so on.
        """
        if not isinstance(ids, list):
            raise TypeError(f"{type(ids)} is not a list instance")
        if ignore_ids is not None and not isinstance(ignore_ids, Collection):
            raise TypeError(f"{type(ignore_ids)} is not a Collection instance")
        lists: Iterable[Any] = [ids] if ids and isinstance(ids[0], int) else ids
        ignored = frozenset(ignore_ids or ())
        return [self._decode(each, ignored) for each in lists]

    def _decode(self, ids: Iterable[int], ignored: Collection[int]) -> str:
        kept = [id for id in ids if id not in ignored]
        for id in kept:
            self._check_id(id)
        text = "".join(self._texts[id] for id in kept)
        return text[1:] if text.startswith(" ") else text

    def vocab_size(self) -> int:
        """Return the number of pieces."""
        return len(self._pieces)

    def vocab(self) -> List[str]:
        """Return the pieces by id."""
        return list(self._pieces)

    def subword_to_id(self, subword: str) -> int:
        """Return the id of a piece, or that of `<UNK>`; -1 for a special piece that the model was trained without."""
        missing = -1 if subword in _SPECIAL.values() else self._ids["<UNK>"]
        return self._ids.get(subword, missing)

    def id_to_subword(self, id: int) -> str:
        """Return the piece with an id."""
        self._check_id(id)
        return self._pieces[id]

    def _check_id(self, id: int) -> None:
        if not 0 <= id < len(self._pieces):
            raise ValueError(f"id is {id}; it must be in the range [0, vocab_size - 1], up to {len(self._pieces) - 1}")

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "n_threads": self.n_threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.model = state["model"]
        self.n_threads = state["n_threads"]
        self._load()


def _check(ids: dict[str, int], vocab_size: int, coverage: float) -> None:
    if not 0 < coverage <= 1:
        raise ValueError(f"coverage is {coverage}; it must be in the range (0, 1]")
    for name, id in ids.items():
        least = 0 if name == "unk_id" else -1
        if not least <= id < vocab_size:
            raise ValueError(f"{name} is {id}; it must be in the range [{least}, vocab_size - 1], with {vocab_size=}")
    given = [id for id in ids.values() if id != -1]
    if len(set(given)) != len(given):
        raise ValueError("the ids of special pieces must differ")
    if 0 not in given:
        raise NotImplementedError(
            "one of the special ids must be 0: YouTokenToMe drops an ordinary piece with the id 0 at the beginning of "
            "words, so its own models with such a piece are broken"
        )


def _renumbered(content: str, special: List[int]) -> str:
    """Return a model whose special pieces have the ids 0, 1, ... with these ids; the others keep their order."""
    rows = [[int(field) for field in line.split()] for line in content.splitlines()]
    size = sum(rows[0]) + len(special)
    if special and special[-1] >= size:
        raise ValueError(f"the text has only {size} pieces, too few for a special piece with the id {special[-1]}")
    taken = set(special)
    new = special + [id for id in range(size) if id not in taken]
    characters, merges = rows[0]
    lines = [rows[0]]
    lines += [[character, new[id]] for character, id in rows[1 : 1 + characters]]
    lines += [[new[id] for id in row] for row in rows[1 + characters : 1 + characters + merges]]
    lines.append([id if id == -1 else new[id] for id in rows[-1]])
    return "".join(" ".join(map(str, row)) + "\n" for row in lines)
