"""The result of encoding one text or a pair."""

from __future__ import annotations

import json
import warnings
from typing import Any, Iterable, Optional, Union

from ._checks import size, text, token_id
from ._plan import Columns, Offset, Padding, Plan, Segment

#: The names of columns in a pickled encoding and in plans.
_COLUMNS = {
    "ids": "ids",
    "type_ids": "type_ids",
    "tokens": "tokens",
    "words": "words",
    "offsets": "offsets",
    "special_tokens_mask": "special",
    "attention_mask": "attention",
}


class Batch:
    """What the encodings of one call share. It makes a plan when an encoding first needs one."""

    __slots__ = ()

    def plan(self, index: int) -> Plan:
        raise NotImplementedError

    def ids(self, index: int) -> list[int]:
        return self.plan(index).column("ids")

    def size(self, index: int) -> int:
        return len(self.plan(index))


class Encoding:
    """The tokens of a text or a pair of texts, with everything that is known about each.

    Offsets, words and token strings are computed when they are first read, so a program that reads only ids does not
    pay for them.

    Examples
    --------
    >>> from dragoman.compat.tokenizers import Tokenizer
    >>> encoding = Tokenizer.from_file("examples/multi30k/model/tokenizer.json").encode("Ein Hund")
    >>> encoding.tokens, encoding.offsets
    (['▁Ein', '▁Hund'], [(0, 3), (3, 8)])
    """

    __slots__ = ("_batch", "_index", "_made", "__weakref__")

    def __init__(self, batch: Batch | None = None, index: int = 0) -> None:
        self._batch = batch
        self._index = index
        self._made: Plan | None = None

    @classmethod
    def _of(cls, plan: Plan) -> Encoding:
        made = cls()
        made._made = plan
        return made

    def _plan(self) -> Plan:
        if self._made is None:
            self._made = Plan() if self._batch is None else self._batch.plan(self._index)
        return self._made

    @property
    def ids(self) -> list[int]:
        """The token ids."""
        if self._made is None and self._batch is not None:
            return self._batch.ids(self._index)
        return self._plan().column("ids")

    @property
    def tokens(self) -> list[str]:
        """The tokens as strings."""
        return self._plan().column("tokens")

    @property
    def type_ids(self) -> list[int]:
        """0 for the first text and 1 for the second, or as the post-processor sets them."""
        return self._plan().column("type_ids")

    @property
    def offsets(self) -> list[Offset]:
        """The first character of each token, and the one after its last. (0, 0) for added tokens."""
        return self._plan().column("offsets")

    @property
    def word_ids(self) -> list[Optional[int]]:
        """The index of the word of each token; None for added tokens."""
        return self._plan().column("words")

    @property
    def words(self) -> list[Optional[int]]:
        """The former name of `word_ids`."""
        warnings.warn("Encoding.words is deprecated; use Encoding.word_ids", DeprecationWarning, stacklevel=2)
        return self.word_ids

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens that the post-processor or padding added."""
        return self._plan().column("special")

    @property
    def attention_mask(self) -> list[int]:
        """0 for padding."""
        return self._plan().column("attention")

    @property
    def overflowing(self) -> list[Encoding]:
        """The parts of the text that truncation cut off."""
        return [Encoding._of(plan) for plan in self._plan().overflowing]

    @property
    def n_sequences(self) -> int:
        """The number of texts: 1, or 2 for a pair."""
        return len(self._plan().ranges) or 1

    @property
    def sequence_ids(self) -> list[Optional[int]]:
        """The index of the text of each token; None for added tokens."""
        ids: list[Optional[int]] = [None] * len(self)
        for index in range(self.n_sequences):
            begin, end = self._range(index)
            ids[begin:end] = [index] * (end - begin)
        return ids

    def __len__(self) -> int:
        if self._made is None and self._batch is not None:
            return self._batch.size(self._index)
        return len(self._plan())

    def __repr__(self) -> str:
        attributes = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{attributes}])"

    def _range(self, sequence: int) -> Offset:
        return self._plan().ranges.get(size(sequence, "sequence_index"), (0, len(self)))

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Optional[Offset]:
        """Return the first token of a word, and the one after its last."""
        begin, end = self._range(sequence_index)
        word_index = token_id(word_index, "word_index")
        found = []
        for i, word in enumerate(self.word_ids[begin:end], begin):
            if word is not None and word > word_index:
                break
            if word == word_index:
                found.append(i)
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Optional[Offset]:
        """Return the characters of a word."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        if tokens is None:
            return None
        offsets = self.offsets
        return offsets[tokens[0]][0], offsets[tokens[1] - 1][1]

    def token_to_sequence(self, token_index: int) -> Optional[int]:
        """Return the index of the text that a token belongs to."""
        if size(token_index, "token_index") >= len(self):
            return None
        if not self._plan().ranges:
            return 0
        for index, (begin, end) in self._plan().ranges.items():
            if begin <= token_index < end:
                return index
        return None

    def token_to_chars(self, token_index: int) -> Optional[Offset]:
        """Return the characters of a token."""
        return None if self.token_to_sequence(token_index) is None else self.offsets[token_index]

    def token_to_word(self, token_index: int) -> Optional[int]:
        """Return the word of a token."""
        return None if self.token_to_sequence(token_index) is None else self.word_ids[token_index]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> Optional[int]:
        """Return the token of a character, or None for whitespace that no token contains."""
        begin, end = self._range(sequence_index)
        char_pos = size(char_pos, "char_pos")
        for i, (first, last) in enumerate(self.offsets[begin:end], begin):
            if first <= char_pos < last:
                return i
        return None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> Optional[int]:
        """Return the word of a character."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Keep `max_length` tokens. The others become `overflowing`; neighbouring parts share `stride` tokens."""
        if direction not in ("left", "right"):
            raise ValueError(f"Invalid truncation direction value : {direction}")
        length, shared = size(max_length, "max_length"), size(stride, "stride")
        self._plan().truncate(length, shared, direction == "left")

    def pad(
        self,
        length: int,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Add padding tokens up to a length."""
        if direction not in ("left", "right"):
            raise ValueError(f"Unknown `direction`: `{direction}`. Use one of `left` or `right`")
        padding = Padding(token_id(pad_id, "pad_id"), text(pad_token, "pad_token"))
        self._plan().pad(size(length, "length"), padding, token_id(pad_type_id, "pad_type_id"), direction == "left")

    def set_sequence_id(self, sequence_id: int) -> None:
        """Declare all tokens to belong to the text with this index."""
        self._plan().set_sequence(size(sequence_id, "sequence_id"))

    @staticmethod
    def merge(encodings: Iterable[Encoding], growing_offsets: bool = True) -> Encoding:
        """Join encodings. `growing_offsets`: the offsets of each continue those of the one before."""
        plan = Plan()
        for encoding in encodings:
            plan.append(encoding._plan().copy(), growing_offsets)
        return Encoding._of(plan)

    def __getstate__(self) -> bytes:
        return json.dumps(_state(self._plan()), ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: Union[bytes, str]) -> None:
        self._batch, self._index = None, 0
        self._made = _plan_of(json.loads(state))


def _state(plan: Plan) -> dict[str, Any]:
    state: dict[str, Any] = {name: plan.column(column) for name, column in _COLUMNS.items()}
    state["overflowing"] = [_state(each) for each in plan.overflowing]
    state["sequence_ranges"] = {str(i): {"start": begin, "end": end} for i, (begin, end) in plan.ranges.items()}
    return state


def _plan_of(state: dict[str, Any]) -> Plan:
    columns = {column: state[name] for name, column in _COLUMNS.items()}
    columns["offsets"] = [(begin, end) for begin, end in columns["offsets"]]
    ranges = {int(i): (each["start"], each["end"]) for i, each in state["sequence_ranges"].items()}
    segment = Segment(Columns(columns), 0, len(columns["ids"]))
    return Plan([segment], ranges, [_plan_of(each) for each in state["overflowing"]])
