"""The class `Translator`."""

from __future__ import annotations

import threading
from typing import Any, Iterable, Iterator, Literal, Optional, Sequence, overload

import dragoman

from . import _streams
from ._model_holder import Loaded
from ._options import OPTION_NAMES, EndToken, Options
from ._results import AsyncTranslationResult, ExecutionStats, GenerationStepResult, TranslationResult
from ._scoring import Scoring, Sources, Tokens
from ._search import Batch
from ._streams import Detokenize, PathLike, Tokenize

Prefixes = Sequence[Optional[Tokens]]


class Translator(Scoring):
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
        self, loaded: Loaded, source: Sources, prefix: Optional[Prefixes], options: Options
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
        self, loaded: Loaded, source: Sources, prefix: Optional[Prefixes], options: Options
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

    def __repr__(self) -> str:
        return f"<dragoman.compat.ctranslate2.Translator {self._name!r} on {self.device}>"
