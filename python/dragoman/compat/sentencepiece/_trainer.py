"""SentencePieceTrainer."""

from __future__ import annotations

import contextlib
import csv
import random
import sys
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

from ... import _core
from ..._options import to_json
from ..._temporary import temporary_folder
from ...errors import Error
from . import _assembly, _counting
from ._model import LoadError, log_level, set_min_log_level
from ._normalizer import SentencePieceNormalizer, character_map, character_map_of_file
from .sentencepiece_model_pb2 import NormalizerSpec, TrainerSpec

_MODEL_TYPES = {"unigram": 1, "bpe": 2, "word": 3, "char": 4}
_TRUE, _FALSE = ("1", "t", "true", "y", "yes"), ("0", "f", "false", "n", "no")

#: Flags that are refused unless they have the value that switches them off, and what to do instead.
_REFUSED = {
    "seed_sentencepieces_file": "leave it out: the seeds are found in the text",
    "auto_character_coverage": "set character_coverage",
    "enable_differential_privacy": "leave it out",
    "differential_privacy_noise_level": "leave it out",
    "differential_privacy_clipping_threshold": "leave it out",
    "self_test_sample_size": "leave it out",
}
_NORMALIZER_FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "normalization_rule_tsv")


def _parse_flags(text: str) -> dict[str, str]:
    flags: dict[str, str] = {}
    for word in text.split(" "):
        name, _, value = word.removeprefix("--").partition("=")
        if name:
            flags.setdefault(name, value)
    return flags


def _as_list(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [str(each) for each in value]
    return next(csv.reader([str(value)])) if str(value) else []


def _as_bool(name: str, value: Any) -> bool:
    text = str(value).lower()
    if text in ("", *_TRUE):
        return True
    if text in _FALSE:
        return False
    raise RuntimeError(f'cannot parse "{value}" as a value of {name}, which is true or false')


def _set_field(message: Any, field: Any, value: Any) -> None:
    if field.repeated:
        getattr(message, field.name)[:] = _as_list(value)
    elif field.kind is bool:
        setattr(message, field.name, _as_bool(field.name, value))
    elif field.kind in (int, "uint", float):
        try:
            setattr(message, field.name, (float if field.kind is float else int)(str(value)))
        except ValueError as error:
            raise RuntimeError(f'cannot parse "{value}" as a value of {field.name}') from error
    else:
        setattr(message, field.name, value if isinstance(value, bytes) else str(value))


class _Job:
    """What a call of train() asks for."""

    def __init__(self, flags: dict[str, Any]) -> None:
        self.sentences = flags.pop("sentence_iterator", flags.pop("sentence_reader", None))
        self.pretokenizer = flags.pop("pretokenizer", None)
        self.any_chunks = bool(flags.pop("allow_inconsistent_pretokenization", False))
        self.writer = flags.pop("model_writer", None)
        normalizer: SentencePieceNormalizer | None = flags.pop("normalizer", None)
        self.trainer = TrainerSpec()
        self.normalizer = NormalizerSpec()
        if normalizer is not None:
            for name in ("normalization_rule_name", *_NORMALIZER_FLAGS):
                if name in flags:
                    raise ValueError(f"{name} and normalizer are both given; give one of them")
            self.normalizer.ParseFromString(normalizer.serialized_normalizer_spec())
        trainer_fields = {field.name: field for field in TrainerSpec.FIELDS}
        normalizer_fields = {field.name: field for field in NormalizerSpec.FIELDS}
        for name, value in flags.items():
            if value is None:
                raise RuntimeError(f'cannot parse "None" as a value of {name}')
            if name == "model_type":
                if str(value).lower() not in _MODEL_TYPES:
                    raise RuntimeError(f'model_type is "{value}"; it must be one of {", ".join(_MODEL_TYPES)}')
                self.trainer.model_type = _MODEL_TYPES[str(value).lower()]
            elif name == "normalization_rule_name":
                self.normalizer.name = str(value)
            elif name == "minloglevel":
                set_min_log_level(int(value))
            elif name == "denormalization_rule_tsv":
                raise NotImplementedError("denormalization_rule_tsv is not supported: replace texts after decoding")
            elif name in trainer_fields:
                _set_field(self.trainer, trainer_fields[name], value)
                if name in _REFUSED and getattr(self.trainer, name):
                    raise NotImplementedError(f"{name} is not supported: {_REFUSED[name]}")
            elif name in normalizer_fields:
                _set_field(self.normalizer, normalizer_fields[name], value)
            else:
                raise RuntimeError(f'unknown field name "{name}" in TrainerSpec')
        self._check()
        self._complete_normalizer()

    def _check(self) -> None:
        spec = self.trainer
        if (self.sentences is None) == (not spec.input):
            raise RuntimeError("give either input or sentence_iterator")
        if (self.writer is None) == (not spec.model_prefix):
            raise RuntimeError("give either model_prefix or model_writer")
        if self.pretokenizer is not None and spec.pretokenization_delimiter:
            raise ValueError("pretokenizer and pretokenization_delimiter are both given; give one of them")
        if spec.input_format not in ("", "text", "tsv"):
            raise RuntimeError("Supported formats are 'text' and 'tsv'.")
        if spec.input_format == "tsv":
            raise NotImplementedError(
                "input_format=tsv is not supported: `dragoman learn-unigram --counts` learns from counted words"
            )
        if spec.unk_id < 0:
            raise NotImplementedError("unk_id=-1 is not supported: every model has an unknown piece")
        for path in spec.input:
            if not Path(path).is_file():
                raise LoadError(f'Not found: "{path}": No such file or directory')

    def _complete_normalizer(self) -> None:
        spec = self.normalizer
        if spec.normalization_rule_tsv:
            spec.name, spec.precompiled_charsmap = "user_defined", character_map_of_file(spec.normalization_rule_tsv)
        elif not spec.name:
            spec.name = "nmt_nfkc"
        if not spec.HasField("precompiled_charsmap"):
            spec.precompiled_charsmap = character_map(spec.name)

    # ---- the corpus

    @contextlib.contextmanager
    def corpus(self) -> Iterator[list[Path]]:
        """Yield the files to learn from. What flags leave out or change is written to a file that disappears."""
        lines: Iterable[bytes] | None = None
        if self.chunks is not None:
            lines = self._chunk_lines()
        elif self.sentences is not None or self.trainer.input_sentence_size or self._has_long_line():
            lines = self.lines()
        if lines is None:
            yield [Path(path) for path in self.trainer.input]
            return
        with temporary_folder() as folder:
            path = folder / "sentences"
            with open(path, "wb") as file:
                for line in lines:
                    file.write(line)
                    file.write(b"\n")
            yield [path]

    def _has_long_line(self) -> bool:
        limit = self.trainer.max_sentence_length
        for path in self.trainer.input:
            with open(path, "rb") as file:
                if any(len(line) > limit and len(line.rstrip(b"\n")) > limit for line in file):
                    return True
        return False

    def lines(self) -> Iterator[bytes]:
        """Yield the sentences: not too long, and as many as input_sentence_size allows."""
        limit, most = self.trainer.max_sentence_length, self.trainer.input_sentence_size
        fitting = (line for line in self._all_lines() if line and len(line) <= limit)
        if not most:
            yield from fitting
        elif not self.trainer.shuffle_input_sentence:
            yield from (line for _, line in zip(range(most), fitting))
        else:
            yield from _sample(fitting, most)

    def _all_lines(self) -> Iterator[bytes]:
        if self.sentences is not None:
            for sentence in self.sentences:
                if not isinstance(sentence, (str, bytes)):
                    raise ValueError("Iterator must return str or bytes.")
                yield (sentence.encode() if isinstance(sentence, str) else sentence).rstrip(b"\r\n")
            return
        for path in self.trainer.input:
            with open(path, "rb") as file:
                for line in file:
                    yield line.rstrip(b"\r\n")

    @property
    def chunks(self) -> Callable[[str], Iterable[str]] | None:
        """The function that divides a normalised sentence into chunks that pieces must not cross, if there is one."""
        if self.pretokenizer is not None:
            return self._checked_chunks
        delimiter = self.trainer.pretokenization_delimiter
        return (lambda text: text.split(delimiter)) if delimiter else None

    def _checked_chunks(self, text: str) -> list[str]:
        try:
            chunks = [str(chunk) for chunk in self.pretokenizer(text)]
        except Exception as error:
            raise RuntimeError(f"Pretokenizer failed: {error}") from error
        if not self.any_chunks and "".join(chunks) != text:
            raise ValueError(
                f"the pretokenizer changes {text!r} to {''.join(chunks)!r}; return parts of it, or set "
                "allow_inconsistent_pretokenization"
            )
        return chunks

    def normalized(self) -> Iterator[str]:
        """Yield the normalised sentences."""
        normalizer = self.text_normalizer()
        for line in self.lines():
            yield normalizer.normalize(line)[0].decode()

    def text_normalizer(self) -> Any:
        """Return the normaliser of the model."""
        spec = self.normalizer
        return _core.TextNormalizer(
            spec.precompiled_charsmap,
            spec.add_dummy_prefix,
            spec.remove_extra_whitespaces,
            spec.escape_whitespaces,
            self.trainer.treat_whitespace_as_suffix,
            list(self.trainer.user_defined_symbols),
        )

    def _chunk_lines(self) -> Iterator[bytes]:
        chunks = self.chunks
        assert chunks is not None
        for text in self.normalized():
            yield from (chunk.encode() for chunk in chunks(text) if chunk)

    # ---- learning

    def options(self, layout: _assembly.Layout) -> dict[str, Any]:
        """Return the options of the engine."""
        spec, normalizer = self.trainer, self.normalizer
        # Chunks are normalised already.
        whole = self.chunks is None
        options: dict[str, Any] = {
            "vocab_size": layout.engine_size,
            "character_coverage": spec.character_coverage,
            "max_piece_length": spec.max_sentencepiece_length,
            "special_tokens": layout.engine_specials,
            "user_symbols": layout.engine_symbols,
            "byte_fallback": spec.byte_fallback,
            "split_scripts": spec.split_by_unicode_script,
            "split_numbers": spec.split_by_number,
            "split_digits": spec.split_digits,
            "split_whitespace": spec.split_by_whitespace,
            "whitespace_pieces": spec.allow_whitespace_only_pieces,
            "dummy_prefix": normalizer.add_dummy_prefix and whole,
            "remove_extra_spaces": normalizer.remove_extra_whitespaces and whole,
            "escape_spaces": normalizer.escape_whitespaces,
            "space_as_suffix": spec.treat_whitespace_as_suffix,
            "character_map": "identity",
            "invalid_utf8": "replace",
        }
        if spec.HasField("num_threads"):
            options["threads"] = spec.num_threads
        if spec.model_type == TrainerSpec.UNIGRAM:
            options["seed_size"] = spec.seed_sentencepiece_size
            options["shrinking_factor"] = spec.shrinking_factor
            options["sub_iterations"] = spec.num_sub_iterations
        return options

    def learn(self, log: Callable[[str, str], None] | None) -> list[tuple[str, float, int]]:
        """Return the learned pieces."""
        layout = _assembly.Layout(self.trainer)
        learned: list[Any]
        kind = self.trainer.model_type
        if kind in (TrainerSpec.WORD, TrainerSpec.CHAR):
            learned = _counting.learn(self.normalized(), self.trainer, layout)
        else:
            options = to_json(self.options(layout))
            character_map = self.normalizer.precompiled_charsmap if self.chunks is None else None
            with self.corpus() as files:
                if kind == TrainerSpec.BPE:
                    model = _core.learn_sentencepiece_bpe(files, options, character_map, None, log)
                    learned = _core.sentencepiece_pieces(model, "learned model")
                else:
                    tokenizer: Any = _core.learn_unigram(files, options, character_map, None, log)
                    learned = tokenizer.unigram_pieces()
        return layout.arrange(learned)

    def write(self, model: bytes, pieces: list[tuple[str, float, int]]) -> None:
        """Write the model, and the list of pieces beside it."""
        if self.writer is not None:
            self.writer.write(model)
            return
        prefix = self.trainer.model_prefix
        Path(f"{prefix}.model").write_bytes(model)
        scores = self.trainer.vocabulary_output_piece_score
        with open(f"{prefix}.vocab", "w", encoding="utf-8", newline="\n") as file:
            for piece, score, _ in pieces:
                file.write(f"{piece}\t{score:g}\n" if scores else f"{piece}\n")


def _sample(lines: Iterable[bytes], most: int) -> list[bytes]:
    """Return a random sample of lines, each with the same probability (Vitter's algorithm R)."""
    generator = random.Random(0)
    kept: list[bytes] = []
    for number, line in enumerate(lines):
        if number < most:
            kept.append(line)
        elif (place := generator.randrange(number + 1)) < most:
            kept[place] = line
    return kept


def _log_function(stream: Any) -> Callable[[str, str], None] | None:
    level = log_level()
    if level >= 2:
        return None

    def log(severity: str, message: str) -> None:
        if level == 0 or severity == "warning":
            print(f"sentencepiece ({severity}): {message}", file=stream or sys.stderr)

    return log


class SentencePieceTrainer:
    """Learns SentencePiece models.

    Examples
    --------
    >>> import io
    >>> from dragoman.compat import sentencepiece as spm
    >>> model = io.BytesIO()
    >>> spm.SentencePieceTrainer.train(sentence_iterator=iter(["a cat sat on a mat"] * 10), model_writer=model,
    ...     vocab_size=12, hard_vocab_limit=False, minloglevel=2)
    >>> spm.SentencePieceProcessor(model_proto=model.getvalue()).vocab_size() <= 12
    True
    """

    @staticmethod
    def Train(arg: str | None = None, logstream: Any = None, **kwargs: Any) -> None:
        """Learn a model and write it.

        Parameters
        ----------
        arg
            Flags of spm_train, as `--input=a.txt --model_prefix=m`. Or give them as keywords.
        logstream
            A text stream for messages; by default the standard error stream.
        **kwargs
            Flags of spm_train; and `sentence_iterator`, `model_writer`, `normalizer` and `pretokenizer`.
        """
        job = _Job(_parse_flags(arg) if isinstance(arg, str) else dict(kwargs))
        try:
            pieces = job.learn(_log_function(logstream))
        except NotImplementedError:
            raise
        except Error as error:
            raise RuntimeError(str(error)) from error
        job.write(_assembly.to_model(pieces, job.trainer, job.normalizer), pieces)

    train = Train
