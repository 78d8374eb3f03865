"""The class `Translator`."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, Union, overload

import dragoman
from dragoman import _core

from . import _logging, _streams, _system
from ._conventions import Conventions
from ._options import OPTION_NAMES, Callback, EndToken, Options
from ._results import (
    AsyncScoringResult,
    AsyncTranslationResult,
    ExecutionStats,
    GenerationStepResult,
    ScoringResult,
    TranslationResult,
)
from ._scores import ScoreBatch
from ._search import Batch
from ._streams import Detokenize, PathLike, Tokenize
from ._vocabulary_map import VocabularyMap, read_vocabulary_map

Tokens = Sequence[str]
Sources = Sequence[Tokens]
Prefixes = Sequence[Optional[Tokens]]


class _Loaded:
    """A model with what calls need of it."""

    def __init__(self, path: Path, threads: int, device: str, compute: str) -> None:
        self.model = dragoman.Model(path, threads=threads, device=device, compute=compute)
        self.conventions = Conventions(self.model, path)
        self.vocabulary_map: VocabularyMap | None = read_vocabulary_map(path, self.conventions)
        self.client = _core.TokenClient(self.model._core)


class Translator:
    """Translates and scores tokens, with the interface of ctranslate2.Translator.

    Parameters
    ----------
    model_path
        A folder of CTranslate2, a model folder of Dragoman, or a model of another toolkit.
    device, device_index
        "cpu", "cuda" or "auto", and the number of the GPU.
    compute_type
        "default" (the type that the folder specifies, else float32), "auto", "float32", "bfloat16", "float16" (GPU),
        "int8", or a dict from devices to these.
    inter_threads, intra_threads
        Their product is the number of worker threads; all cores if `intra_threads` is 0.
    max_queued_batches
        Has no effect: a call waits while the unfinished sources take 64 MiB.
    flash_attention
        Has no effect.
    tensor_parallel
        Not available.
    files
        The files of the model, by name, as bytes or file objects.

    Examples
    --------
    >>> translator = Translator("examples/multi30k/model")
    >>> tokens = dragoman.Tokenizer("examples/multi30k/model/tokenizer.json").tokenize("Ein Hund läuft.")
    >>> translator.translate_batch([tokens], beam_size=4)[0].hypotheses[0][:2]
    ['▁A', '▁dog']
    """

    def __init__(
        self,
        model_path: PathLike,
        device: str = "cpu",
        *,
        device_index: Union[int, List[int]] = 0,
        compute_type: Union[str, Mapping[str, str]] = "default",
        inter_threads: int = 1,
        intra_threads: int = 0,
        max_queued_batches: int = 0,
        flash_attention: bool = False,
        tensor_parallel: bool = False,
        files: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._device = _system.device_of(device, device_index)
        self._compute = _system.compute_of(compute_type, self._device)
        if tensor_parallel:
            raise NotImplementedError("tensor_parallel is not available in dragoman.compat: a model runs on one device")
        if inter_threads < 1 or intra_threads < 0:
            raise ValueError(f"inter_threads is {inter_threads} and intra_threads {intra_threads}; at least 1 and 0")
        self._inter_threads = inter_threads
        self._threads = inter_threads * intra_threads
        self._name = str(model_path)
        self._path = Path(model_path)
        self._lock = threading.RLock()
        self._open: list[Callable[[], bool]] = []
        self._line = 0
        self._seed: int | None = None
        if files is not None:
            self._path = self._write_files(files)
        self._loaded: _Loaded | None = None
        self.load_model()

    def _write_files(self, files: Mapping[str, Any]) -> Path:
        """Write the files to a temporary folder, which exists as long as the translator."""
        self._folder = tempfile.TemporaryDirectory(prefix="dragoman-")
        for name, content in files.items():
            data = content.read() if hasattr(content, "read") else content
            if not isinstance(data, bytes):
                raise TypeError("File content must be a file-like or bytes object")
            if Path(name).name != name:
                raise ValueError(f"{name!r} is no name of a file in a model folder")
            Path(self._folder.name, name).write_bytes(data)
        return Path(self._folder.name)

    @property
    def device(self) -> str:
        """The device, "cpu" or "cuda"."""
        return self._device.split(":")[0]

    @property
    def device_index(self) -> list[int]:
        """The number of the device, as a list."""
        return [int(self._device.partition(":")[2] or 0)]

    @property
    def compute_type(self) -> str:
        """The number type of matrix products."""
        return self._compute_type

    @property
    def num_translators(self) -> int:
        """The parameter `inter_threads`."""
        return self._inter_threads

    @property
    def num_active_batches(self) -> int:
        """The number of calls with results that are not finished."""
        with self._lock:
            self._open = [is_open for is_open in self._open if is_open()]
            return len(self._open)

    @property
    def num_queued_batches(self) -> int:
        """The number of these calls beyond `num_translators`."""
        return max(self.num_active_batches - self._inter_threads, 0)

    @property
    def tensor_parallel(self) -> bool:
        """Whether several devices compute together: False."""
        return False

    @property
    def model_is_loaded(self) -> bool:
        """Whether the model is loaded."""
        return self._loaded is not None

    def load_model(self, keep_cache: bool = False) -> None:
        """Load the model again after `unload_model`."""
        with self._lock:
            if self._loaded is not None:
                return
            if not self._path.exists():
                raise RuntimeError(f"Unable to open file 'model.bin' in model '{self._name}'")
            loaded = _Loaded(self._path, self._threads, self._device, self._compute)
            self._compute_type = _system.name_of_compute(loaded.model.compute)
            self._loaded = loaded
        _logging.info(f"Loaded model {self._name} on device {self._device} with compute type {self._compute_type}")

    def unload_model(self, to_cpu: bool = False) -> None:
        """Unload the model, unless calls are active. With `to_cpu`, a model on the CPU stays."""
        if to_cpu and self.device == "cpu":
            return
        with self._lock:
            if self.num_active_batches == 0:
                self._loaded = None

    def _ready(self) -> _Loaded:
        loaded = self._loaded
        if loaded is None:
            raise RuntimeError("The model for this translator was unloaded")
        return loaded

    def _track(self, is_open: Callable[[], bool]) -> None:
        """Count a call as active while `is_open` returns True."""
        with self._lock:
            self._open = [*(each for each in self._open if each()), is_open]

    def _lines(self, count: int) -> tuple[int, int]:
        """Return the seed, and the number of sources that it was used for."""
        with self._lock:
            seed = _system.random_seed()
            if seed != self._seed:
                self._seed, self._line = seed, 0
            first, self._line = self._line, self._line + count
            return seed, first

    @overload
    def translate_batch(
        self, source: Sources, target_prefix: Optional[Prefixes] = ..., *, asynchronous: Literal[True], **options: Any
    ) -> list[AsyncTranslationResult]: ...
    @overload
    def translate_batch(
        self,
        source: Sources,
        target_prefix: Optional[Prefixes] = ...,
        *,
        asynchronous: Literal[False] = ...,
        **options: Any,
    ) -> list[TranslationResult]: ...
    def translate_batch(
        self,
        source: Sources,
        target_prefix: Optional[Prefixes] = None,
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        asynchronous: bool = False,
        **options: Any,
    ) -> list[TranslationResult] | list[AsyncTranslationResult]:
        """Translate a batch of tokens.

        Parameters
        ----------
        source
            The tokens of each sentence.
        target_prefix
            For each sentence, tokens that its translation begins with, or None.
        max_batch_size, batch_type
            Have no effect on results. The engine decides what it computes together.
        asynchronous
            Whether to return at once, with results that can be waited for.
        **options
            All options of CTranslate2: beam_size, patience, num_hypotheses, length_penalty, coverage_penalty,
            repetition_penalty, no_repeat_ngram_size, disable_unk, suppress_sequences, end_token, return_end_token,
            prefix_bias_beta, max_input_length, max_decoding_length, min_decoding_length, use_vmap, return_scores,
            return_attention, return_alternatives, min_alternative_expansion_prob, sampling_topk, sampling_topp,
            sampling_temperature, replace_unknowns, callback. `return_logits_vocab` is not available.
        """
        _streams.check_batches(max_batch_size, batch_type)
        unknown = options.keys() - OPTION_NAMES
        if unknown:
            raise TypeError(f"translate_batch(): incompatible function arguments: {', '.join(sorted(unknown))}")
        if len(source) == 0:
            return []
        loaded = self._ready()
        if not asynchronous:
            results: list[TranslationResult] = self._translate(loaded, source, target_prefix, Options(**options))
            return results
        return self._translate_later(loaded, source, target_prefix, Options(**options))

    def _translate(
        self, loaded: _Loaded, source: Sources, prefix: Optional[Prefixes], options: Options
    ) -> list[TranslationResult]:
        batch = Batch(loaded.client, loaded.conventions, source, prefix, options, loaded.vocabulary_map)
        if options.return_alternatives:
            return [batch.alternatives(index) for index in range(len(source))]
        seed, line = self._lines(len(source))
        job = batch.start(line, seed)
        self._track(lambda: job.open > 0)
        job.wait()
        return [batch.result(index) for index in range(len(source))]

    def _translate_later(
        self, loaded: _Loaded, source: Sources, prefix: Optional[Prefixes], options: Options
    ) -> list[AsyncTranslationResult]:
        try:
            batch = Batch(loaded.client, loaded.conventions, source, prefix, options, loaded.vocabulary_map)
            if options.return_alternatives:
                return self._alternatives_later(batch, len(source))
            seed, line = self._lines(len(source))
            job = batch.start(line, seed)
        except Exception as error:
            failed = error

            def fail() -> TranslationResult:
                raise failed

            return [AsyncTranslationResult(fail, lambda: True) for _ in source]
        self._track(lambda: job.open > 0)

        # The model must live as long as its results.
        def result(index: int) -> AsyncTranslationResult:
            return AsyncTranslationResult(lambda: (loaded, batch.result(index))[1], lambda: batch.is_done(index))

        return [result(index) for index in range(len(source))]

    def _alternatives_later(self, batch: Batch, count: int) -> list[AsyncTranslationResult]:
        """Compute alternatives, which take several searches, in a thread."""
        results: list[TranslationResult] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                for index in range(count):
                    results.append(batch.alternatives(index))
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self._track(thread.is_alive)

        def get(index: int) -> TranslationResult:
            thread.join()
            if errors:
                raise errors[0]
            return results[index]

        def result(index: int) -> AsyncTranslationResult:
            return AsyncTranslationResult(lambda: get(index), lambda: len(results) > index or not thread.is_alive())

        return [result(index) for index in range(count)]

    def translate_iterable(
        self,
        source: Iterable[Tokens],
        target_prefix: Optional[Iterable[Optional[Tokens]]] = None,
        max_batch_size: int = 32,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[TranslationResult]:
        """Yield the result of each source, in order, in bounded memory. The options are those of `translate_batch`."""
        _streams.check_batches(max_batch_size, batch_type, 1)
        if target_prefix is None:
            yield from _streams.results_of(
                lambda batch: self.translate_batch(batch, asynchronous=True, **options), iter(source)
            )
            return
        examples = _streams.together(source, target_prefix)
        yield from _streams.results_of(
            lambda batch: self.translate_batch(
                [each[0] for each in batch], [each[1] for each in batch], asynchronous=True, **options
            ),
            examples,
        )

    def generate_tokens(
        self,
        source: Tokens,
        target_prefix: Optional[Tokens] = None,
        *,
        max_decoding_length: int = 256,
        min_decoding_length: int = 1,
        sampling_topk: int = 1,
        sampling_topp: float = 1,
        sampling_temperature: float = 1,
        return_log_prob: bool = False,
        repetition_penalty: float = 1,
        no_repeat_ngram_size: int = 0,
        disable_unk: bool = False,
        suppress_sequences: Optional[Sequence[Tokens]] = None,
        end_token: Optional[EndToken] = None,
        max_input_length: int = 1024,
        use_vmap: bool = False,
    ) -> Iterator[GenerationStepResult]:
        """Yield the tokens of a translation as they are generated, by greedy search or sampling."""
        yield from _streams.tokens_as_generated(
            lambda **more: self.translate_batch(
                [source], None if target_prefix is None else [target_prefix], asynchronous=True, **more
            ),
            beam_size=1,
            max_decoding_length=max_decoding_length,
            min_decoding_length=min_decoding_length,
            sampling_topk=sampling_topk,
            sampling_topp=sampling_topp,
            sampling_temperature=sampling_temperature,
            return_scores=return_log_prob,
            repetition_penalty=repetition_penalty,
            no_repeat_ngram_size=no_repeat_ngram_size,
            disable_unk=disable_unk,
            suppress_sequences=suppress_sequences,
            end_token=end_token,
            max_input_length=max_input_length,
            use_vmap=use_vmap,
        )

    def translate_file(
        self,
        source_path: PathLike,
        output_path: PathLike,
        target_path: Optional[PathLike] = None,
        *,
        max_batch_size: int = 32,
        read_batch_size: int = 0,
        batch_type: str = "examples",
        with_scores: bool = False,
        source_tokenize_fn: Optional[Tokenize] = None,
        target_tokenize_fn: Optional[Tokenize] = None,
        target_detokenize_fn: Optional[Detokenize] = None,
        **options: Any,
    ) -> ExecutionStats:
        """Translate a file of tokens separated by spaces, or a text that the functions tokenize.

        The options are those of `translate_batch`. `target_path` is a file of prefixes. The batch sizes have no effect.
        """
        _streams.check_batches(max_batch_size, batch_type)
        if (source_tokenize_fn is None) != (target_detokenize_fn is None):
            raise ValueError("source_tokenize_fn and target_detokenize_fn should both be set or none at all")
        if target_path is not None and source_tokenize_fn is not None and target_tokenize_fn is None:
            raise ValueError("target_tokenize_fn should be set when passing a target file")
        self._ready()
        paths = [source_path] if target_path is None else [source_path, target_path]
        tokenizers = [source_tokenize_fn or _streams.split, target_tokenize_fn or _streams.split]
        examples = _streams.examples_of(paths, tokenizers)
        options["return_scores"] = with_scores

        def submit(batch: list[Any]) -> list[AsyncTranslationResult]:
            prefixes = None if target_path is None else [each[1] for each in batch]
            return self.translate_batch([each[0] for each in batch], prefixes, asynchronous=True, **options)

        with _streams.ResultFile(output_path, target_detokenize_fn or " ".join) as output:
            for result in _streams.results_of(submit, examples):
                output.write_translation(result, with_scores)
            return output.stats()

    @overload
    def score_batch(
        self,
        source: Sources,
        target: Sources,
        *,
        max_batch_size: int = ...,
        batch_type: str = ...,
        max_input_length: int = ...,
        offset: int = ...,
        asynchronous: Literal[True],
    ) -> list[AsyncScoringResult]: ...
    @overload
    def score_batch(
        self,
        source: Sources,
        target: Sources,
        *,
        max_batch_size: int = ...,
        batch_type: str = ...,
        max_input_length: int = ...,
        offset: int = ...,
        asynchronous: Literal[False] = ...,
    ) -> list[ScoringResult]: ...
    def score_batch(
        self,
        source: Sources,
        target: Sources,
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
        asynchronous: bool = False,
    ) -> list[ScoringResult] | list[AsyncScoringResult]:
        """Return the log probability of each token of given translations, the end included.

        Parameters
        ----------
        source, target
            The tokens of each pair.
        max_batch_size, batch_type
            Have no effect.
        max_input_length
            Longer sources and targets are cut; 0 for no limit.
        offset
            The number of tokens at the beginning of targets that results leave out.
        asynchronous
            Whether to return at once, with results that can be waited for.
        """
        _streams.check_batches(max_batch_size, batch_type)
        loaded = self._ready()
        batch = ScoreBatch(loaded.client, loaded.conventions, source, target, max_input_length, offset)
        job = batch.start()
        self._track(lambda: job.open > 0)
        if not asynchronous:
            job.wait()
            return [batch.result(index) for index in range(len(source))]

        def result(index: int) -> AsyncScoringResult:
            return AsyncScoringResult(lambda: (loaded, batch.result(index))[1], lambda: batch.is_done(index))

        return [result(index) for index in range(len(source))]

    def score_iterable(
        self,
        source: Iterable[Tokens],
        target: Iterable[Tokens],
        max_batch_size: int = 64,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[ScoringResult]:
        """Yield the score of each pair, in order, in bounded memory. The options are those of `score_batch`."""
        _streams.check_batches(max_batch_size, batch_type, 1)
        yield from _streams.results_of(
            lambda batch: self.score_batch(
                [each[0] for each in batch], [each[1] for each in batch], asynchronous=True, **options
            ),
            _streams.together(source, target),
        )

    def score_file(
        self,
        source_path: PathLike,
        target_path: PathLike,
        output_path: PathLike,
        *,
        max_batch_size: int = 32,
        read_batch_size: int = 0,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
        with_tokens_score: bool = False,
        source_tokenize_fn: Optional[Tokenize] = None,
        target_tokenize_fn: Optional[Tokenize] = None,
        target_detokenize_fn: Optional[Detokenize] = None,
    ) -> ExecutionStats:
        """Score parallel files. A line of the output has the mean log probability and the tokens."""
        _streams.check_batches(max_batch_size, batch_type)
        functions = (source_tokenize_fn, target_tokenize_fn, target_detokenize_fn)
        if any(functions) and not all(functions):
            raise ValueError(
                "source_tokenize_fn, target_tokenize_fn, and target_detokenize_fn should all be set or none at all"
            )
        self._ready()
        tokenizers = [source_tokenize_fn or _streams.split, target_tokenize_fn or _streams.split]

        def submit(batch: list[Any]) -> list[AsyncScoringResult]:
            sources, targets = [each[0] for each in batch], [each[1] for each in batch]
            return self.score_batch(
                sources, targets, max_input_length=max_input_length, offset=offset, asynchronous=True
            )

        with _streams.ResultFile(output_path, target_detokenize_fn or " ".join) as output:
            for result in _streams.results_of(submit, _streams.examples_of([source_path, target_path], tokenizers)):
                output.write_score(result, with_tokens_score)
            return output.stats()

    def __repr__(self) -> str:
        return f"<dragoman.compat.ctranslate2.Translator {self._name!r} on {self.device}>"
