"""Tokenizers of common kinds, made of components."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import dragoman
from dragoman._temporary import temporary_folder

from . import decoders, pre_tokenizers, processors, trainers
from ._added_token import AddedToken
from ._encoding import Encoding
from ._parts import Regex
from ._tokenizer import Tokenizer
from .models import BPE, PathLike, Unigram, WordPiece
from .normalizers import NFKC, BertNormalizer, Lowercase, Nmt, Normalizer, Replace, unicode_normalizer_from_str
from .normalizers import Sequence as NormalizerSequence

Merges = Sequence[tuple[str, str]]
Tokens = Sequence[Union[str, AddedToken]]
Files = Union[PathLike, Sequence[PathLike]]
_BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class BaseTokenizer:
    """A tokenizer with a description. It has all methods and components of the `Tokenizer` inside."""

    _trainer: type[trainers.Trainer] = trainers.BpeTrainer
    #: The options of the trainer that differ from its defaults.
    _training: Mapping[str, Any] = {}

    def __init__(self, tokenizer: Tokenizer, parameters: Optional[Mapping[str, Any]] = None) -> None:
        self.__dict__["_tokenizer"] = tokenizer
        self.__dict__["_parameters"] = dict(parameters or {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_tokenizer":
            raise AttributeError(name)
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._tokenizer, name, value)

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value}" for name, value in self._parameters.items())
        return f"Tokenizer(vocabulary_size={self._tokenizer.get_vocab_size()}{shown})"

    def normalize(self, sequence: str) -> str:
        """Return the normalised text."""
        normalizer = self._tokenizer.normalizer
        return sequence if normalizer is None else str(normalizer.normalize_str(sequence))

    def save_model(self, directory: str, prefix: Optional[str] = None) -> list[str]:
        """Write the files of the model."""
        files: list[str] = self._tokenizer.model.save(directory, prefix)
        return files

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Encode a text, or a pair of texts."""
        if sequence is None:
            raise ValueError("encode: `sequence` can't be `None`")
        tokenizer: Tokenizer = self._tokenizer
        return tokenizer.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def decode(self, ids: Sequence[int], skip_special_tokens: Optional[bool] = True) -> str:
        """Return the text of ids."""
        if ids is None:
            raise ValueError("None input is not valid. Should be a list of integers.")
        tokenizer: Tokenizer = self._tokenizer
        return tokenizer.decode(ids, bool(skip_special_tokens))

    def train(self, files: Files, vocab_size: Optional[int] = None, **options: Any) -> None:
        """Learn the model from text files. The options are those of the trainer."""
        self._tokenizer.train(files, self._made_trainer({"vocab_size": vocab_size, **options}))

    def train_from_iterator(
        self, iterator: Iterable[Any], vocab_size: Optional[int] = None, *, length: Optional[int] = None, **options: Any
    ) -> None:
        """Learn the model from texts. The options are those of the trainer."""
        trainer = self._made_trainer({"vocab_size": vocab_size, **options})
        self._tokenizer.train_from_iterator(iterator, trainer, length)

    def _made_trainer(self, options: dict[str, Any]) -> trainers.Trainer:
        names = {"wordpieces_prefix": "continuing_subword_prefix", "suffix": "end_of_word_suffix"}
        given = {names.get(name, name): value for name, value in options.items() if value is not None}
        for name in given:
            if name not in vars(self._trainer()):
                raise TypeError(f"{type(self).__name__} has no option {name!r} for training")
        return self._trainer(**{**self._training, **given})

    def enable_padding(
        self,
        direction: str = "right",
        pad_to_multiple_of: Optional[int] = None,
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: Optional[int] = None,
    ) -> None:
        """Pad encodings as `Tokenizer.enable_padding` does. The order of the parameters is another one."""
        self._tokenizer.enable_padding(
            direction=direction,
            pad_to_multiple_of=pad_to_multiple_of,
            pad_id=pad_id,
            pad_type_id=pad_type_id,
            pad_token=pad_token,
            length=length,
        )


def _add_known(tokenizer: Tokenizer, *tokens: Union[str, AddedToken]) -> None:
    """Declare tokens special that the vocabulary contains."""
    for token in tokens:
        if tokenizer.token_to_id(str(token)) is not None:
            tokenizer.add_special_tokens([str(token)])


def _set_normalizers(tokenizer: Tokenizer, normalizers: list[Normalizer]) -> None:
    if normalizers:
        tokenizer.normalizer = normalizers[0] if len(normalizers) == 1 else NormalizerSequence(normalizers)


class BertWordPieceTokenizer(BaseTokenizer):
    """WordPiece as BERT uses it."""

    _trainer = trainers.WordPieceTrainer
    _training = {"min_frequency": 2, "limit_alphabet": 1000, "special_tokens": _BERT_SPECIAL}

    def __init__(
        self,
        vocab: Union[Mapping[str, int], str, None] = None,
        unk_token: Union[str, AddedToken] = "[UNK]",
        sep_token: Union[str, AddedToken] = "[SEP]",
        cls_token: Union[str, AddedToken] = "[CLS]",
        pad_token: Union[str, AddedToken] = "[PAD]",
        mask_token: Union[str, AddedToken] = "[MASK]",
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: Optional[bool] = None,
        lowercase: bool = True,
        wordpieces_prefix: str = "##",
    ) -> None:
        parameters = {"model": "BertWordPiece", **_without(locals(), "self", "vocab")}
        tokenizer = Tokenizer(WordPiece(vocab, unk_token=str(unk_token)))
        _add_known(tokenizer, unk_token, sep_token, cls_token, pad_token, mask_token)
        tokenizer.normalizer = BertNormalizer(clean_text, handle_chinese_chars, strip_accents, lowercase)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        if vocab is not None:
            ends = []
            for name, token in (("sep", str(sep_token)), ("cls", str(cls_token))):
                id = tokenizer.token_to_id(token)
                if id is None:
                    raise TypeError(f"{name}_token not found in the vocabulary")
                ends.append((token, id))
            tokenizer.post_processor = processors.BertProcessing(ends[0], ends[1])
        tokenizer.decoder = decoders.WordPiece(prefix=wordpieces_prefix)
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab: PathLike, **options: Any) -> BertWordPieceTokenizer:
        """Make a tokenizer of a vocab.txt."""
        return BertWordPieceTokenizer(WordPiece.read_file(vocab), **options)


class ByteLevelBPETokenizer(BaseTokenizer):
    """Byte-level BPE as GPT-2 uses it."""

    _training = {"min_frequency": 2, "initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}

    def __init__(
        self,
        vocab: Union[Mapping[str, int], str, None] = None,
        merges: Union[Merges, str, None] = None,
        add_prefix_space: bool = False,
        lowercase: bool = False,
        dropout: Optional[float] = None,
        unicode_normalizer: Optional[str] = None,
        continuing_subword_prefix: Optional[str] = None,
        end_of_word_suffix: Optional[str] = None,
        trim_offsets: bool = False,
    ) -> None:
        parameters = {"model": "ByteLevelBPE", **_without(locals(), "self", "vocab", "merges")}
        model = BPE()
        if vocab is not None and merges is not None:
            model = BPE(
                vocab,
                merges,
                dropout=dropout,
                continuing_subword_prefix=continuing_subword_prefix or None,
                end_of_word_suffix=end_of_word_suffix or None,
            )
        tokenizer = Tokenizer(model)
        normalizers: list[Normalizer] = []
        if unicode_normalizer:
            normalizers.append(unicode_normalizer_from_str(unicode_normalizer))
        if lowercase:
            normalizers.append(Lowercase())
        _set_normalizers(tokenizer, normalizers)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab_filename: PathLike, merges_filename: PathLike, **options: Any) -> ByteLevelBPETokenizer:
        """Make a tokenizer of a vocab.json and a merges.txt."""
        return ByteLevelBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **options)


class CharBPETokenizer(BaseTokenizer):
    """BPE with marks at the ends of words (Sennrich et al. 2016)."""

    _training = {
        "min_frequency": 2,
        "special_tokens": ("<unk>",),
        "limit_alphabet": 1000,
        "end_of_word_suffix": "</w>",
    }

    def __init__(
        self,
        vocab: Union[Mapping[str, int], str, None] = None,
        merges: Union[Merges, str, None] = None,
        unk_token: Union[str, AddedToken] = "<unk>",
        suffix: str = "</w>",
        dropout: Optional[float] = None,
        lowercase: bool = False,
        unicode_normalizer: Optional[str] = None,
        bert_normalizer: bool = True,
        split_on_whitespace_only: bool = False,
    ) -> None:
        parameters = {"model": "BPE", **_without(locals(), "self", "vocab", "merges")}
        known = (vocab, merges) if vocab is not None and merges is not None else (None, None)
        tokenizer = Tokenizer(BPE(*known, dropout=dropout, unk_token=str(unk_token), end_of_word_suffix=suffix))
        _add_known(tokenizer, unk_token)
        normalizers: list[Normalizer] = []
        if unicode_normalizer:
            normalizers.append(unicode_normalizer_from_str(unicode_normalizer))
        if bert_normalizer:
            normalizers.append(BertNormalizer(lowercase=False))
        if lowercase:
            normalizers.append(Lowercase())
        _set_normalizers(tokenizer, normalizers)
        if split_on_whitespace_only:
            tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        else:
            tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.BPEDecoder(suffix=suffix)
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab_filename: PathLike, merges_filename: PathLike, **options: Any) -> CharBPETokenizer:
        """Make a tokenizer of a vocab.json and a merges.txt."""
        return CharBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **options)


class SentencePieceBPETokenizer(BaseTokenizer):
    """BPE on words with a leading mark, as SentencePiece has them."""

    _training = {"min_frequency": 2, "special_tokens": ("<unk>",), "limit_alphabet": 1000}

    def __init__(
        self,
        vocab: Union[Mapping[str, int], str, None] = None,
        merges: Union[Merges, str, None] = None,
        unk_token: Union[str, AddedToken] = "<unk>",
        replacement: str = "\u2581",
        add_prefix_space: bool = True,
        dropout: Optional[float] = None,
        fuse_unk: Optional[bool] = False,
    ) -> None:
        parameters = {"model": "SentencePieceBPE", **_without(locals(), "self", "vocab", "merges", "fuse_unk")}
        known = (vocab, merges) if vocab is not None and merges is not None else (None, None)
        tokenizer = Tokenizer(BPE(*known, dropout=dropout, unk_token=str(unk_token), fuse_unk=fuse_unk))
        _add_known(tokenizer, unk_token)
        tokenizer.normalizer = NFKC()
        _set_metaspace(tokenizer, replacement, add_prefix_space)
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab_filename: PathLike, merges_filename: PathLike, **options: Any) -> SentencePieceBPETokenizer:
        """Make a tokenizer of a vocab.json and a merges.txt."""
        return SentencePieceBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **options)


class SentencePieceUnigramTokenizer(BaseTokenizer):
    """A unigram model on words with a leading mark, as SentencePiece has them."""

    _trainer = trainers.UnigramTrainer

    def __init__(
        self,
        vocab: Optional[Sequence[tuple[str, float]]] = None,
        replacement: str = "\u2581",
        add_prefix_space: bool = True,
    ) -> None:
        parameters = {"model": "SentencePieceUnigram", **_without(locals(), "self", "vocab")}
        tokenizer = Tokenizer(Unigram(vocab))
        tokenizer.normalizer = NormalizerSequence([Nmt(), NFKC(), Replace(Regex(" {2,}"), " ")])
        _set_metaspace(tokenizer, replacement, add_prefix_space)
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_spm(filename: PathLike) -> SentencePieceUnigramTokenizer:
        """Make a tokenizer of a SentencePiece model of type unigram."""
        made = SentencePieceUnigramTokenizer()
        with temporary_folder() as folder:
            file = folder / "tokenizer.json"
            dragoman.convert(filename, file, to="tokenizer-json")
            tokenizer = Tokenizer.from_file(file)
        if not isinstance(tokenizer.model, Unigram):
            raise ValueError(f"{filename}: not a model of type unigram")
        BaseTokenizer.__init__(made, tokenizer, {"model": "SentencePieceUnigram"})
        return made


def _set_metaspace(tokenizer: Tokenizer, replacement: str, add_prefix_space: bool) -> None:
    scheme = "always" if add_prefix_space else "never"
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in (*names, "__class__")}
