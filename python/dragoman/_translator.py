"""Translation."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from . import _core
from ._model import Model
from ._options import SearchOptions, TranslateOptions, several, to_json
from ._tokenizer import PathLike
from .errors import UnsupportedError


@dataclass(frozen=True, slots=True, eq=False)
class Translation:
    """One translation of a text."""

    text: str
    #: The value that translations are ranked by: `log_probability` under length and coverage penalty.
    score: float
    #: The sum of `token_scores`.
    log_probability: float
    #: The tokens of the translation, without the end.
    tokens: list[str]
    #: Natural logarithms of the probabilities of the tokens, and one more for the end unless `cut`.
    token_scores: npt.NDArray[np.float64]
    #: With `alignment=True`: for each entry of `token_scores`, the attention over the source tokens with their end.
    alignment: npt.NDArray[np.float32] | None = None
    #: Whether the translation reached the length limit before the model chose to end it.
    cut: bool = False
    #: With minimum Bayes risk: the expected utility that translations are ranked by.
    expected_utility: float | None = None
    #: The constraints that the translation does not meet.
    unmet_constraints: list[str] = field(default_factory=list)
    #: For a text that was longer than the model supports: the translations of each of its parts.
    parts: list[list[Translation]] = field(default_factory=list)

    def __str__(self) -> str:
        return self.text


def _split(options: TranslateOptions) -> tuple[str, str, str, str, list[str], bool, bool, str]:
    """Return the search as JSON, and the options of the text in the order in which the extension takes them."""
    search: dict[str, Any] = dict(options)
    request = (
        search.pop("source_language", ""),
        search.pop("target_language", ""),
        search.pop("target_prefix", ""),
        several(search.pop("constraints", ()), "constraints"),
        search.pop("input_pieces", False),
        search.pop("output_pieces", False),
        search.pop("markup", "none"),
    )
    return (to_json(search), *request)


def _named(value: object) -> str:
    return f"{value!r} of type {type(value).__name__}"


def _text(index: int, text: str) -> str:
    """Return the text, or raise the error that names it: a column of pandas may hold missing values."""
    if not isinstance(text, str):
        raise TypeError(f"texts[{index}] is {_named(text)}; every text must be a str")
    return text


def _texts(texts: Iterable[str]) -> list[str]:
    if not isinstance(texts, Iterable):
        raise TypeError(f"text is {_named(texts)}; it must be a str, or several")
    return [_text(i, text) for i, text in enumerate(texts)]


def _translation(values: tuple[Any, ...]) -> Translation:
    text, score, log_probability, tokens, token_scores, alignment, cut, utility, unmet, parts = values
    inner = [[_translation(each) for each in part] for part in parts]
    return Translation(text, score, log_probability, tokens, token_scores, alignment, cut, utility, unmet, inner)


class Translator:
    """Translates text with a model. All calls, from any number of threads, share the model's workers.

    Parameters
    ----------
    model
        The model, or its path.
    **search
        The options of the search, as `beam_size=5`; docs/guides/search.md explains each. Those of a call come first,
        then these, then the model folder's.
    logits_processors
        Registered logits processors by name, each with its options. See `logits_processor`.

    Examples
    --------
    >>> translator = Translator(Model("examples/multi30k/model", threads=1), beam_size=4)
    >>> translator.translate("Ein Hund läuft im Schnee.")
    'A dog runs in the snow.'
    >>> best, second = translator.translate_n_best("Ein Hund läuft im Schnee.", n_best=2)
    >>> best.score >= second.score
    True
    """

    __slots__ = ("_core", "_model", "_search", "_processors", "__weakref__")

    def __init__(
        self,
        model: Model | PathLike,
        *,
        logits_processors: Mapping[str, Mapping[str, Any]] | None = None,
        **search: Unpack[SearchOptions],
    ) -> None:
        of_model = {"threads", "device", "compute", "compute_type", "ensemble"} & search.keys()
        if of_model:
            raise TypeError(f"{min(of_model)} is no option of a search; give it to Model: Translator(Model(path, ...))")
        self._model = model if isinstance(model, Model) else Model(model)
        self._search, self._processors = search, dict(logits_processors or {})
        processors = {name: to_json(options) for name, options in (logits_processors or {}).items()}
        self._core = _core.Translator(self._model._core, to_json(search), processors)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies go to other processes as the path of the model, which they open."""
        return _retranslate, (self._model, self._processors, self._search)

    @property
    def model(self) -> Model:
        """The model."""
        return self._model

    @overload
    def translate(self, text: str, **options: Unpack[TranslateOptions]) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, text: Iterable[str], **options: Unpack[TranslateOptions]) -> list[str]: ...
    def translate(self, text: str | Iterable[str], **options: Unpack[TranslateOptions]) -> str | list[str]:
        """Return the best translation of a text, or of each of several texts.

        Several texts are decoded together, which is much faster than one call for each.

        Parameters
        ----------
        text
            A text, or several.
        **options
            `source_language`, `target_language`, `target_prefix`, `constraints`, `input_pieces`, `output_pieces`,
            `markup` (see `TranslateOptions`), and the options of the search.
        """
        best: list[str] = [each[0][0] for each in self._translate(text, options)]
        return best[0] if isinstance(text, str) else best

    @overload
    def translate_n_best(self, text: str, **options: Unpack[TranslateOptions]) -> list[Translation]: ...  # type: ignore[overload-overlap]
    @overload
    def translate_n_best(self, text: Iterable[str], **options: Unpack[TranslateOptions]) -> list[list[Translation]]: ...
    def translate_n_best(
        self, text: str | Iterable[str], **options: Unpack[TranslateOptions]
    ) -> list[Translation] | list[list[Translation]]:
        """Return up to `n_best` translations with scores, tokens and alignment, the best first.

        The parameters are those of `translate`.
        """
        made = [[_translation(each) for each in best] for best in self._translate(text, options)]
        return made[0] if isinstance(text, str) else made

    def _translate(self, text: str | Iterable[str], options: TranslateOptions) -> list[list[tuple[Any, ...]]]:
        texts = [text] if isinstance(text, str) else _texts(text)
        return self._core.translate_batch(texts, *_split(options))

    def submit(
        self,
        text: str,
        *,
        on_partial: Callable[[str], None] | None = None,
        **options: Unpack[TranslateOptions],
    ) -> concurrent.futures.Future[list[Translation]]:
        """Queue a text and return a future of its translations.

        Waits only while the unfinished texts of this translator hold more than 64 MiB. A future that is cancelled
        stops its search.

        Parameters
        ----------
        on_partial
            Receives each longer prefix of the translation that is final. It runs in a thread of the model, so it must
            be quick and must not call the translator.
        **options
            Those of `translate`.

        Examples
        --------
        >>> translator = Translator("examples/multi30k/model")
        >>> futures = [translator.submit(text) for text in ("Eine Frau spielt Gitarre.", "Ein Mann fährt Fahrrad.")]
        >>> [future.result()[0].text for future in futures]
        ['A woman is playing a guitar.', 'A man is riding a bicycle.']
        """
        if not isinstance(text, str):
            raise TypeError(f"text is {_named(text)}; it must be a str")
        # It keeps the translator until it is done: unfinished texts of one that is gone are stopped.
        future = _Submitted(self)
        _open_futures.add(future)
        partial = None if on_partial is None else _Partial(on_partial, future)

        def done(found: list[Any] | None, error: BaseException | None) -> None:
            future.translator = None
            if not future.set_running_or_notify_cancel():
                return
            if partial is not None and partial.error is not None:
                error = partial.error
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result([_translation(each) for each in found or ()])

        future.cancellation = self._core.submit(text, *_split(options), done, partial)
        return future

    async def translate_async(self, text: str, **options: Unpack[TranslateOptions]) -> str:
        """Return the best translation of a text without blocking the event loop; the options are those of `submit`.

        Examples
        --------
        >>> translator = Translator("examples/multi30k/model")
        >>> asyncio.run(translator.translate_async("Eine Frau spielt Gitarre."))
        'A woman is playing a guitar.'
        """
        # A long text is cut into sentences by the caller, and a full queue waits: neither here.
        if len(text) > _LONG_TEXT or _core.submit_may_wait():
            future = await asyncio.to_thread(self.submit, text, **options)
        else:
            future = self.submit(text, **options)
        return (await asyncio.wrap_future(future))[0].text

    def translate_iterable(
        self, texts: Iterable[str], *, queued: int = 1024, **options: Unpack[TranslateOptions]
    ) -> Iterator[str]:
        """Yield the best translation of each text, in order, in bounded memory.

        Parameters
        ----------
        texts
            Any number of texts, such as an open file.
        queued
            How many texts are read ahead. More gives the workers more to choose from.
        **options
            Those of `submit`.

        Examples
        --------
        >>> translator = Translator("examples/multi30k/model")
        >>> list(translator.translate_iterable(["Eine Frau spielt Gitarre.", "Ein Mann fährt Fahrrad."]))
        ['A woman is playing a guitar.', 'A man is riding a bicycle.']
        """
        return (best[0].text for best in self.translate_n_best_iterable(texts, queued=queued, **options))

    def translate_n_best_iterable(
        self, texts: Iterable[str], *, queued: int = 1024, **options: Unpack[TranslateOptions]
    ) -> Iterator[list[Translation]]:
        """Yield the translations of each text with scores, in order, in bounded memory.

        The parameters are those of `translate_iterable`.
        """
        if queued < 1:
            raise ValueError(f"queued is {queued}; it must be at least 1")
        if isinstance(texts, (str, bytes)):
            several(texts, "texts")
        return self._stream(texts, queued, options)

    def _stream(self, texts: Iterable[str], queued: int, options: TranslateOptions) -> Iterator[list[Translation]]:
        waiting: collections.deque[concurrent.futures.Future[list[Translation]]] = collections.deque()
        try:
            for index, text in enumerate(texts):
                waiting.append(self.submit(_text(index, text).rstrip("\n"), **options))
                if len(waiting) >= queued:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def __repr__(self) -> str:
        return f"<dragoman.Translator of {self._model!r}>"


#: Characters from which submit() takes a noticeable time to cut a text into sentences.
_LONG_TEXT = 5000


def _retranslate(model: Model, processors: dict[str, Any], search: SearchOptions) -> Translator:
    return Translator(model, logits_processors=processors, **search)


class _Partial:
    """Passes prefixes on that are longer than the last one. An exception ends the search, and is the future's."""

    def __init__(self, function: Callable[[str], None], future: _Submitted) -> None:
        self.function = function
        self.future = future
        self.longest = 0
        self.error: BaseException | None = None

    def __call__(self, text: str) -> None:
        if len(text) <= self.longest or self.error is not None:
            return
        self.longest = len(text)
        try:
            self.function(text)
        except BaseException as error:
            self.error = error
            if self.future.cancellation is not None:
                self.future.cancellation.request_stop()


class _Submitted(concurrent.futures.Future[list[Translation]]):
    """A future whose cancellation stops the search."""

    cancellation: _core.Cancellation | None = None

    def __init__(self, translator: Translator) -> None:
        super().__init__()
        self.translator: Translator | None = translator

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled and self.cancellation is not None:
            self.cancellation.request_stop()
        return cancelled


#: Those that are not done, for the child of a fork, in which nobody finishes them.
_open_futures: weakref.WeakSet[_Submitted] = weakref.WeakSet()


def fail_open_futures() -> None:
    """Fail the futures of the parent process, in the child of a fork."""
    for future in list(_open_futures):
        if not future.done() and future.set_running_or_notify_cancel():
            message = "the text was submitted before the process was forked; submit it again in this process"
            future.set_exception(UnsupportedError(message))
