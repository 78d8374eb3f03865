"""dragoman.compat.sacrebleu against values that sacreBLEU 2.6.0 computed.

The table SCORES was printed by this module with the package in place of the drop-in: `python test_compat_sacrebleu.py`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if __name__ != "__main__":
    import dragoman
    from dragoman.compat import sacrebleu
    from dragoman.compat.sacrebleu.metrics import BLEU, CHRF, TER
    from dragoman.compat.sacrebleu.significance import PairedTest
else:
    import sacrebleu
    from sacrebleu.metrics import BLEU, CHRF, TER

HYPOTHESES = ["The cat sat on the mat.", "A dog runs  in snow !", "It was not cheap: 1,000.5 Euros."]
REFERENCES = [
    ["The cat sat on a mat.", "A dog is running in the snow!", "It wasn't cheap: 1,000.5 euros."],
    ["The cat was on the mat.", None, "It was 1,000.5 euros."],
]
METRICS: list[tuple[Any, dict[str, Any]]] = [
    (BLEU, {}),
    (BLEU, {"tokenize": "intl", "lowercase": True, "smooth_method": "add-k"}),
    (BLEU, {"max_ngram_order": 2, "effective_order": True, "smooth_method": "floor", "smooth_value": 0.5}),
    (CHRF, {}),
    (CHRF, {"word_order": 2, "lowercase": True}),
    (TER, {}),
    (TER, {"normalized": True, "case_sensitive": True}),
]
#: Score and signature with two references for some segments; the line of one reference with 50 resamples.
SCORES = [
    (
        "BLEU = 39.38 85.7/61.1/33.3/16.7 (BP = 0.953 ratio = 0.955 hyp_len = 21 ref_len = 22)",
        "nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
        "BLEU|#:1|bs:50|rs:12345|c:mixed|e:no|tok:13a|s:exp|v:2.6.0 = 26.13 (μ = 26.65 ± 19.43) 76.2/44.4/20.0/8.3"
        " (BP = 0.953 ratio = 0.955 hyp_len = 21 ref_len = 22)",
    ),
    (
        "BLEU = 51.87 90.5/73.7/50.0/38.5 (BP = 0.867 ratio = 0.875 hyp_len = 21 ref_len = 24)",
        "nrefs:var|case:lc|eff:no|tok:intl|smooth:add-k[1.00]|version:2.6.0",
        "BLEU|#:1|bs:50|rs:12345|c:lc|e:no|tok:intl|s:add-k[1.00]|v:2.6.0 = 41.80 (μ = 40.78 ± 18.26)"
        " 81.0/57.9/37.5/30.8 (BP = 0.867 ratio = 0.875 hyp_len = 21 ref_len = 24)",
    ),
    (
        "BLEU = 69.01 85.7/61.1 (BP = 0.953 ratio = 0.955 hyp_len = 21 ref_len = 22)",
        "nrefs:var|case:mixed|eff:yes|tok:13a|smooth:floor[0.50]|version:2.6.0",
        "BLEU|#:1|bs:50|rs:12345|c:mixed|e:yes|tok:13a|s:floor[0.50]|v:2.6.0 = 55.49 (μ = 55.00 ± 17.11) 76.2/44.4"
        " (BP = 0.953 ratio = 0.955 hyp_len = 21 ref_len = 22)",
    ),
    (
        "chrF2 = 56.83",
        "nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0",
        "chrF2|#:1|bs:50|rs:12345|c:mixed|e:yes|nc:6|nw:0|s:no|v:2.6.0 = 56.83 (μ = 55.99 ± 21.37)",
    ),
    (
        "chrF2++ = 63.85",
        "nrefs:var|case:lc|eff:yes|nc:6|nw:2|space:no|version:2.6.0",
        "chrF2++|#:1|bs:50|rs:12345|c:lc|e:yes|nc:6|nw:2|s:no|v:2.6.0 = 63.85 (μ = 62.37 ± 23.38)",
    ),
    (
        "TER = 40.00",
        "nrefs:var|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0",
        "TER|#:1|bs:50|rs:12345|c:lc|t:tercom|nr:no|pn:yes|as:no|v:2.6.0 = 38.89 (μ = 37.82 ± 20.24)",
    ),
    (
        "TER = 33.33",
        "nrefs:var|case:mixed|tok:tercom|norm:yes|punct:yes|asian:no|version:2.6.0",
        "TER|#:1|bs:50|rs:12345|c:mixed|t:tercom|nr:yes|pn:yes|as:no|v:2.6.0 = 31.82 (μ = 30.80 ± 13.31)",
    ),
]


def rows() -> list[tuple[str, str, str]]:
    made = []
    for metric_class, options in METRICS:
        metric = metric_class(**options)
        score = repr(metric.corpus_score(HYPOTHESES, REFERENCES))
        signature = str(metric.get_signature())
        resampled = metric.corpus_score(HYPOTHESES, REFERENCES[:1], n_bootstrap=50)
        made.append((score, signature, resampled.format(signature=metric.get_signature().format(short=True))))
    return made


def test_scores_and_signatures_are_those_of_sacrebleu() -> None:
    local = f"+dragoman.{dragoman.__version__}"
    assert [tuple(text.replace(local, "") for text in row) for row in rows()] == SCORES


def test_version_names_both_programs() -> None:
    assert sacrebleu.__version__ == f"2.6.0+dragoman.{dragoman.__version__}"


def test_bleu_score_has_sacrebleus_fields() -> None:
    # sacreBLEU 2.6.0: BLEU(smooth_method="add-k").corpus_score(["a b c d e"], [["a b c d f"]])
    score = BLEU(smooth_method="add-k").corpus_score(["a b c d e"], [["a b c d f"]])
    assert (score.counts, score.totals) == ([4, 4, 3, 2], [5, 5, 4, 3])
    assert score.precisions == pytest.approx([80, 80, 75, 200 / 3])
    assert (score.bp, score.sys_len, score.ref_len, score.ratio) == (1, 5, 5, 1)


def test_json_holds_the_signature() -> None:
    metric = BLEU()
    score = metric.corpus_score(["a b c d e"], [["a b c d f"]])
    made = json.loads(score.format(3, is_json=True, signature=str(metric.get_signature())))
    assert made["score"] == 66.874 and made["tok"] == "13a" and made["nrefs"] == "1"
    assert made["verbose_score"] == "80.0/75.0/66.7/50.0 (BP = 1.000 ratio = 1.000 hyp_len = 5 ref_len = 5)"
    assert score.format(1, score_only=True) == "66.9"


def test_functions_of_the_package() -> None:
    assert sacrebleu.corpus_bleu(HYPOTHESES, REFERENCES).score == BLEU().corpus_score(HYPOTHESES, REFERENCES).score
    assert sacrebleu.sentence_bleu("a b", ["a b"]).score == pytest.approx(100)
    assert sacrebleu.raw_corpus_bleu(["a test"], [["a test"]], 0.01).score == pytest.approx(100)
    assert sacrebleu.sentence_chrf("abc", ["abd"], word_order=2).name == "chrF2++"
    assert sacrebleu.sentence_ter("d e f g h a b c", ["a b c d e f g h"]).num_edits == 1


def test_references_of_the_constructor() -> None:
    metric = CHRF(references=REFERENCES)
    assert metric.corpus_score(HYPOTHESES, None).score == CHRF().corpus_score(HYPOTHESES, REFERENCES).score


def test_a_tokenizer_of_ones_own() -> None:
    class Halves(sacrebleu.metrics.bleu.BaseTokenizer):  # type: ignore[misc, name-defined]
        def signature(self) -> str:
            return "halves"

        def __call__(self, line: str) -> str:
            return f"{line[: len(line) // 2]} {line[len(line) // 2 :]}"

    metric = BLEU(max_ngram_order=1)
    metric.tokenizer = Halves()
    metric.tokenizer_signature = metric.tokenizer.signature()
    assert metric.corpus_score(["abcd"], [["abxx"]]).score == pytest.approx(50)


def test_paired_test_needs_no_baseline_of_its_own() -> None:
    systems = [("Baseline: a", ["a b c d", "e f g h"] * 20), ("b", ["a b c d", "e f g x"] * 20)]
    references = [["a b c d", "e f g h"] * 20]
    for kind, confidence in (("bs", -1), ("ar", 50)):
        signatures, table = PairedTest(systems, {"x": BLEU(), "y": TER()}, references, kind, 100, confidence)()
        assert list(table) == ["System", "BLEU", "TER"] and table["System"] == ["Baseline: a", "b"]
        assert table["BLEU"][0].p_value is None and 0 < table["BLEU"][1].p_value < 0.05
        assert table["BLEU"][1].mean is not None
        assert f"|{kind}:100|" in f"|{signatures['BLEU']}|" and "seed:12345" in str(signatures["BLEU"])


def test_wrong_arguments_have_sacrebleus_exceptions() -> None:
    with pytest.raises(TypeError, match="BLEU: Each element of `refs` should be a sequence of strings."):
        BLEU().corpus_score(["a"], [1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="BLEU: The argument `refs` should be a sequence of strings."):
        BLEU(effective_order=True).sentence_score("a", "b")
    with pytest.raises(RuntimeError, match="no references"):
        BLEU().corpus_score(["a"], None)
    with pytest.raises(ValueError, match="number of references"):
        BLEU().get_signature()


@pytest.mark.parametrize("name", ["ko-mecab", "flores200"])
def test_what_is_missing_says_so(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("dragoman.compat.sacrebleu.tokenizers.engine.SACREBLEU_DIR", str(tmp_path))
    with pytest.raises(NotImplementedError, match=name):
        BLEU(tokenize=name)


def test_sentencepiece_models_are_read_from_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = Path(__file__).parents[1] / "tokenizer" / "golden" / "sentencepiece_plain.model"
    (tmp_path / "models").mkdir()
    shutil.copy(model, tmp_path / "models" / "flores200sacrebleuspm")
    monkeypatch.setattr("dragoman.compat.sacrebleu.tokenizers.engine.SACREBLEU_DIR", str(tmp_path))
    metric = BLEU(tokenize="flores200", max_ngram_order=1)
    assert metric.corpus_score(["a cat"], [["a cat"]]).score == pytest.approx(100)
    assert "|tok:flores200|" in str(metric.get_signature())
    assert metric.tokenizer("\U0001f642") in ("▁ \U0001f642", "▁\U0001f642"), "text without a piece is itself"


def test_there_are_no_test_sets() -> None:
    with pytest.raises(NotImplementedError, match="no catalogue of test sets"):
        sacrebleu.get_source_file("wmt19", "de-en")
    with pytest.raises(NotImplementedError):
        list(sacrebleu.DATASETS)


def test_installed_in_place_of_the_package() -> None:
    code = (
        "import dragoman.compat; dragoman.compat.install('sacrebleu'); import sacrebleu;"
        "from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a;"
        "from sacrebleu.metrics.bleu import _get_tokenizer;"
        "assert _get_tokenizer('13a') is Tokenizer13a; print(sacrebleu.metrics.BLEU().tokenizer('a,b'))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "a , b\n"


if __name__ == "__main__":
    print(*rows(), sep="\n")
