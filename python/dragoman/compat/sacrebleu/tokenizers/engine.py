"""The tokenizers that the engine has."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from dragoman import Tokenizer, _core

from ..utils import SACREBLEU_DIR
from .tokenizer_base import BaseTokenizer

_EXACT = _core.EncodeOptions("exact", 0.1, 0.1, 0, 0, 0, False)


class EngineTokenizer(BaseTokenizer):
    """A tokenizer that the engine's metric has under this name, too."""

    _NAME = ""

    def signature(self) -> str:
        return self._NAME

    def __call__(self, line: str) -> str:
        return " ".join(_core.tokenize_for_bleu(line, self._NAME))


class Tokenizer13a(EngineTokenizer):
    """WMT's mteval-v13a.

    Examples
    --------
    >>> Tokenizer13a()("It's 1,000.5, isn't it?")
    "It's 1,000.5 , isn't it ?"
    """

    _NAME = "13a"


class TokenizerV14International(EngineTokenizer):
    """mteval-v14: the punctuation and the symbols of all scripts."""

    _NAME = "intl"


class TokenizerZh(EngineTokenizer):
    """Each Chinese character; mteval-v13a's rules for the rest."""

    _NAME = "zh"


class TokenizerChar(EngineTokenizer):
    """Each character."""

    _NAME = "char"

    def __call__(self, line: str) -> str:
        return " ".join(line)


class NoneTokenizer(EngineTokenizer):
    """The line as it is."""

    _NAME = "none"

    def __call__(self, line: str) -> str:
        return line


class TokenizerSPM(BaseTokenizer):
    """A SentencePiece model, which is read from sacreBLEU's folder; nothing is downloaded.

    Parameters
    ----------
    key
        "flores101", "flores200" or "spBLEU-1K"; "spm" is an old name of the first.
    """

    #: The name in signatures, the file, and its source.
    MODELS = {
        "flores101": (
            "sacrebleu_tokenizer_spm.model",
            "https://dl.fbaipublicfiles.com/fairseq/models/flores/sacrebleu_tokenizer_spm.model",
        ),
        "flores200": ("flores200sacrebleuspm", "https://tinyurl.com/flores200sacrebleuspm"),
        "spBLEU-1K": (
            "spbleu-1k_tokenizer_spm.model",
            "https://www.dlnlp.ai/spBLEU-1K/spbleu-1k_tokenizer_spm.model",
        ),
    }

    def __init__(self, key: str = "spm") -> None:
        self.name = "flores101" if key == "spm" else key
        name, source = self.MODELS[self.name]
        file = Path(SACREBLEU_DIR) / "models" / name
        if not file.exists():
            raise NotImplementedError(
                f"{file}: there is no such file, the model of the tokenizer {self.name}; nothing is downloaded here: "
                f"fetch it from {source}"
            )
        self._model = Tokenizer.from_bytes(file.read_bytes(), name=str(file), type="sentencepiece")

    def signature(self) -> str:
        return self.name

    def __call__(self, line: str) -> str:
        return " ".join(self._model._core.encode_as_text(line, _EXACT))


class Flores101Tokenizer(TokenizerSPM):
    """The SentencePiece model of FLORES-101."""

    def __init__(self) -> None:
        super().__init__("flores101")


class Flores200Tokenizer(TokenizerSPM):
    """The SentencePiece model of FLORES-200."""

    def __init__(self) -> None:
        super().__init__("flores200")


class SpBleu1KTokenizer(TokenizerSPM):
    """The SentencePiece model of spBLEU-1K."""

    def __init__(self) -> None:
        super().__init__("spBLEU-1K")


class TokenizerJaMecab(BaseTokenizer):
    """MeCab with the dictionary of the package ipadic, or with Debian's mecab-ipadic-utf8 if that is not installed."""

    def __init__(self) -> None:
        try:
            dictionary: str | None = os.path.abspath(importlib.import_module("ipadic").DICDIR)
        except ImportError:
            dictionary = None
        self._mecab = _core.MecabTokenizer.open(dictionary)

    def signature(self) -> str:
        return self._mecab.name

    def __call__(self, line: str) -> str:
        return self._mecab.separate(line).strip()


class TokenizerKoMecab(BaseTokenizer):
    """Raises NotImplementedError: MeCab for Korean is another library than the one that the engine loads."""

    def __init__(self) -> None:
        raise NotImplementedError(
            "Dragoman has no tokenizer ko-mecab; separate the words with the program mecab-ko and pass tokenize='none'"
        )
