"""The class Tokenizer."""

from __future__ import annotations

import asyncio
import json
import os
from itertools import repeat
from typing import Any, Iterable, Iterator, Optional, Sequence, Union

from ._added_token import AddedToken
from ._checks import choice, ignore_unknown, several, size, text, token_id
from ._encoding import Encoding
from ._inputs import Texts, read_inputs, read_sequence, threads
from ._sources import TextBatch
from ._state import PathLike, TokenizerParts
from ._steps import PaddingOptions, Truncation
from .models import Model

_DIRECTIONS = ("left", "right")
_STRATEGIES = ("longest_first", "only_first", "only_second")


class Tokenizer(TokenizerParts):
    """A tokenizer.json, with the results of the package `tokenizers` and Dragoman's engine.

    Parameters
    ----------
    model
        A model of `models`; or a tokenizer with a method `to_str`, such as one of the package `tokenizers`, or a
        tokenizer of `transformers` with a `backend_tokenizer`, which is taken over.

    Examples
    --------
    >>> tokenizer = Tokenizer.from_file("examples/multi30k/model/tokenizer.json")
    >>> encoding = tokenizer.encode("Ein Hund")
    >>> encoding.tokens, tokenizer.decode(encoding.ids)
    (['▁Ein', '▁Hund'], 'Ein Hund')
    """

    def __init__(self, model: Any) -> None:
        self._clear()
        other = getattr(model, "backend_tokenizer", model)
        if isinstance(model, Model):
            self._model = model
        elif callable(getattr(other, "to_str", None)):
            self._load(json.loads(other.to_str()))
        else:
            raise TypeError(f"'{type(model).__name__}' object is not an instance of 'Model'")

    # ---- encoding and decoding

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Encode a text, or a pair of texts.

        Parameters
        ----------
        sequence, pair
            Texts; with `is_pretokenized`, lists of words.
        add_special_tokens
            Whether the post-processor adds its special tokens.
        """
        texts = [read_sequence(each, is_pretokenized) for each in (sequence, pair) if each is not None]
        if sequence is None:
            read_sequence(None, is_pretokenized)
        firsts = None if pair is None else [0, 2]
        return self._encode(Texts(texts, firsts, 1), add_special_tokens, False)[0]

    def encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode many texts, or pairs of texts, with all threads."""
        return self._encode(read_inputs(input, is_pretokenized), add_special_tokens, False)

    def encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode many texts without offsets, words and token strings."""
        return self._encode(read_inputs(input, is_pretokenized), add_special_tokens, True)

    def _encode(self, texts: Texts, add_special_tokens: bool, fast: bool) -> list[Encoding]:
        self._model._check_encodes()
        settings = self._current_settings()
        encoded = None
        if not settings.engine.dropout:
            ids, ends = settings.engine.encode_batch(texts.flat, threads())
            encoded = ids, texts.ends_of_texts(ends.tolist())
        batch = TextBatch(settings, texts.size, texts.texts, texts.firsts, encoded, add_special_tokens, fast)
        if encoded is None:
            # Draws differ from call to call, so they are made now and not when a column is read.
            return list(map(Encoding._of, batch.plans(texts.size)))
        return list(map(Encoding, repeat(batch, texts.size), range(texts.size)))

    async def async_encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Encode as `encode` does, in another thread."""
        return await asyncio.to_thread(self.encode, sequence, pair, is_pretokenized, add_special_tokens)

    async def async_encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode as `encode_batch` does, in another thread."""
        return await asyncio.to_thread(self.encode_batch, input, is_pretokenized, add_special_tokens)

    async def async_encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode as `encode_batch_fast` does, in another thread."""
        return await asyncio.to_thread(self.encode_batch_fast, input, is_pretokenized, add_special_tokens)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids. Ids that no token has are ignored."""
        return self._current_engine().decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Return the texts of several lists of ids."""
        engine = self._current_engine()
        return [engine.decode(ids, skip_special_tokens) for ids in sequences]

    async def async_decode_batch(
        self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Decode as `decode_batch` does, in another thread."""
        return await asyncio.to_thread(self.decode_batch, sequences, skip_special_tokens)

    def post_process(
        self, encoding: Encoding, pair: Optional[Encoding] = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncate encodings, add special tokens and pad, as `encode` does."""
        settings = self._current_settings()
        plans = [each._plan().copy() for each in (encoding, pair) if each is not None]
        plan = settings.finish(plans, add_special_tokens)
        if settings.padding is not None:
            settings.padding.apply(plan, settings.padding.target(len(plan)))
        return Encoding._of(plan)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of tokens that the post-processor adds to a text or to a pair."""
        return 0 if self._post_processor is None else self._post_processor.num_special_tokens_to_add(is_pair)

    # ---- truncation and padding

    @property
    def truncation(self) -> Optional[dict[str, Any]]:
        """The parameters of truncation, or None."""
        return None if self._truncation is None else dict(vars(self._truncation))

    def enable_truncation(
        self,
        max_length: int,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
        **unknown: Any,
    ) -> None:
        """Cut texts to `max_length` tokens, special tokens included.

        Parameters
        ----------
        stride
            The number of tokens that an overflowing part shares with the one before.
        strategy
            "longest_first", "only_first" or "only_second": the text of a pair that is cut.
        direction
            "right" or "left": the end that is cut.
        """
        ignore_unknown(unknown)
        made = Truncation(
            size(max_length, "max_length"),
            size(stride, "stride"),
            choice(strategy, "strategy", "`longest_first`, `only_first`, or `only_second`", _STRATEGIES),
            choice(direction, "direction", "`left` or `right`.", _DIRECTIONS),
        )
        added = self.num_special_tokens_to_add(False)
        if 0 <= made.max_length - added < made.stride:
            raise ValueError(
                f"tokenizer stride set to {stride}, which is greater than or equal to its effective max length of "
                f"{max_length - added} (= {max_length} original max length - {added} added special tokens)"
            )
        self._truncation = made

    def no_truncation(self) -> None:
        """Do not cut texts."""
        self._truncation = None

    @property
    def padding(self) -> Optional[dict[str, Any]]:
        """The parameters of padding, or None."""
        return None if self._padding is None else dict(vars(self._padding))

    def enable_padding(
        self,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: Optional[int] = None,
        pad_to_multiple_of: Optional[int] = None,
        **former: Any,
    ) -> None:
        """Pad encodings to `length`, or those of a batch to the length of the longest."""
        former = ignore_unknown(former, ["max_length"])
        if "max_length" in former:
            print("enable_padding(max_length=X) is deprecated, use enable_padding(length=X) instead")
            length = former["max_length"] if length is None else length
        self._padding = PaddingOptions(
            None if length is None else size(length, "length"),
            None if pad_to_multiple_of is None else size(pad_to_multiple_of, "pad_to_multiple_of"),
            token_id(pad_id, "pad_id"),
            text(pad_token, "pad_token"),
            token_id(pad_type_id, "pad_type_id"),
            choice(direction, "direction", "`left` or `right`.", _DIRECTIONS),
        )

    def no_padding(self) -> None:
        """Do not pad encodings."""
        self._padding = None

    # ---- vocabulary

    def add_tokens(self, tokens: Sequence[Union[str, AddedToken]]) -> int:
        """Add tokens to the vocabulary. Return how many were added."""
        return self._added.add(_added_tokens(tokens), self._model._vocab())

    def add_special_tokens(self, tokens: Sequence[Union[str, AddedToken]]) -> int:
        """Add tokens that decoding leaves out. Return how many were added."""
        made = _added_tokens(tokens)
        for token in made:
            token.special = True
        return self._added.add(made, self._model._vocab())

    def token_to_id(self, token: str) -> Optional[int]:
        """Return the id of a token, or None."""
        id = self._added.ids.get(text(token, "token"))
        return self._model.token_to_id(token) if id is None else id

    def id_to_token(self, id: int) -> Optional[str]:
        """Return the token with an id, or None."""
        token = self._added.tokens.get(token_id(id, "id"))
        if token is None:
            return self._model.id_to_token(id)
        if token.normalized and self._normalizer is not None:
            return self._current_engine().normalize(token.content)
        return token.content

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the ids of all tokens."""
        vocab = dict(self._model._vocab())
        if with_added_tokens:
            vocab.update(self._added.ids)
        return vocab

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens."""
        vocab = self._model._vocab()
        added = sum(token not in vocab for token in self._added.ids) if with_added_tokens else 0
        return len(vocab) + added

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Return the added tokens by id."""
        return {id: token._copy() for id, token in sorted(self._added.tokens.items())}

    # ---- training

    def train(self, files: Union[PathLike, Sequence[PathLike]], trainer: Any = None) -> None:
        """Learn the model from text files. Lines keep their ends."""
        from .trainers import lines_of

        names = [files] if isinstance(files, (str, os.PathLike)) else list(files)
        self.train_from_iterator(lines_of(names), trainer)

    def train_from_iterator(
        self, iterator: Union[Iterable[str], Iterable[Iterable[str]]], trainer: Any = None, length: Optional[int] = None
    ) -> None:
        """Learn the model from texts, or from lists of texts.

        The normalizer and the pre-tokenizer are applied to each text first.
        """
        from .trainers import words_of

        trainer = self._model.get_trainer() if trainer is None else trainer
        trainer._check(self._model)
        words = words_of(_texts(iterator), self._normalizer, self._pre_tokenizer)
        self._model, special_tokens = trainer._train(words, self._model)
        self.add_special_tokens(special_tokens)


def _texts(iterator: Iterable[Any]) -> Iterator[str]:
    for each in iterator:
        if isinstance(each, str):
            yield each
        else:
            yield from each


def _added_tokens(tokens: Any) -> list[AddedToken]:
    made = [AddedToken(token) if isinstance(token, str) else token for token in several(tokens, "tokens")]
    for token in made:
        if not isinstance(token, AddedToken):
            raise TypeError("Input must be a List[Union[str, AddedToken]]")
    return made
