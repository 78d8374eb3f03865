"""Writes mecab.json: how sacreBLEU's tokenizer ja-mecab cuts our own lines, and what BLEU it gives.

    pip install 'sacrebleu[ja]==2.6.0' && python make_mecab.py
"""
import json
import pathlib

from sacrebleu.metrics import BLEU
from sacrebleu.metrics.bleu import _get_tokenizer

LINES = [
    "今日は良い天気です。", "　全角の　空白が\u3000ある　", "  a  b ", "", " ", "ＡＢＣ123，5kg", "私はMeCab 0.996を使います。",
    "吾輩は猫である。名前はまだ無い。", "すもももももももものうち", "😀猫が🎉好き", "一\tニ", "ｶﾀｶﾅとひらがな", "𠮷野家で牛丼を食べた。",
    "é ü テスト naïve", "2019-2021年、3.14％", "「はい」と言った……", "http://example.org/道?q=1", "ﾊﾝｶｸ!?", "東京都に住む", "ーーーー",
    "か\u3099", "\u200b見えない\ufeff字", "<b>太字</b>&amp;", "Привет、世界", "١٢٣", "笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑笑",
    "x" * 70, "ん" * 70, "行末\u2028行", "\u00a0左", "右\u00a0",
]
HYPOTHESES = ["二匹の犬が草の上を走っている。", "男の人がギターを弾いています。", "子供たちは公園で遊んだ"]
REFERENCES = ["二匹の犬が芝生の上を走っている。", "男性がギターを弾いている。", "子供たちが公園で遊んでいる。"]

tokenizer = _get_tokenizer("ja-mecab")()
bleu = BLEU(tokenize="ja-mecab")
score = bleu.corpus_score(HYPOTHESES, [REFERENCES])
expected = {
    "signature": tokenizer.signature(),
    "lines": [[line, tokenizer(line.rstrip()).split()] for line in LINES],
    "hypotheses": HYPOTHESES, "references": REFERENCES, "bleu": score.score,
}
with open(pathlib.Path(__file__).parent / "mecab.json", "w", encoding="utf-8") as file:
    json.dump(expected, file, ensure_ascii=False, indent=0)
    file.write("\n")
