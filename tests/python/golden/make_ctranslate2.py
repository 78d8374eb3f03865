"""Writes ctranslate2.json: translations and scores of CTranslate2 with the bundled model, for test_compat_ctranslate2.py.

    dragoman convert examples/multi30k/model --to ctranslate2 --output bundled-ct2
    python tests/python/golden/make_ctranslate2.py bundled-ct2    # ctranslate2 4.8.5

Each sentence is a batch of its own: in larger batches, CTranslate2 returns other values for some options.
"""

import json
import sys
from pathlib import Path

import ctranslate2

SOURCES = [
    "▁Ein ▁Mann ▁mit ▁einem ▁orange far ben en ▁Hut , ▁der ▁etwas ▁an starr t.",
    "▁Zwei ▁Hunde ▁spielen ▁im ▁Schnee .",
    "▁Leute , ▁die ▁vor ▁einem ▁Gebäude ▁stehen .",
    "▁Ein ▁kleines ▁Mädchen ▁xyz ▁lacht .",
]
PREFIXES = ["▁A ▁man ▁with", "▁Three", "", "▁The ▁little"]
TARGETS = ["▁A ▁man ▁in ▁a ▁hat .", "▁Two ▁dogs ▁play ▁in ▁the ▁snow .", "▁People", "▁A ▁girl ▁laughs ."]

#: With the key `prefix`, translations begin with PREFIXES.
CASES = {
    "default": {},
    "n_best": {"beam_size": 4, "num_hypotheses": 4},
    "greedy": {"beam_size": 1, "return_end_token": True},
    "no_length_penalty": {"beam_size": 4, "length_penalty": 0, "num_hypotheses": 2},
    "length_penalty": {"beam_size": 5, "length_penalty": 0.6, "num_hypotheses": 3},
    "patience": {"beam_size": 3, "patience": 2, "num_hypotheses": 6},
    "patience_without_length_penalty": {"beam_size": 3, "patience": 2, "num_hypotheses": 3, "length_penalty": 0},
    "coverage_penalty": {"beam_size": 4, "coverage_penalty": 0.2},
    "repetition_penalty": {"beam_size": 3, "repetition_penalty": 1.3},
    "no_repeat_ngram_size": {"beam_size": 3, "no_repeat_ngram_size": 2},
    "disable_unk": {"beam_size": 3, "disable_unk": True},
    "suppress_sequences": {"beam_size": 3, "suppress_sequences": [["▁A"], ["▁in", "▁the"]]},
    "end_token": {"beam_size": 3, "end_token": "▁in", "return_end_token": True, "num_hypotheses": 2},
    "end_tokens": {"beam_size": 3, "end_token": ["▁in", "."], "return_end_token": True},
    "max_decoding_length": {"beam_size": 3, "max_decoding_length": 3, "num_hypotheses": 3},
    "max_decoding_length_greedy": {"beam_size": 1, "max_decoding_length": 3},
    "min_decoding_length": {"beam_size": 3, "min_decoding_length": 14},
    "max_input_length": {"max_input_length": 3},
    "attention": {"return_attention": True},
    "attention_of_a_cut_source": {"return_attention": True, "max_input_length": 3, "beam_size": 1},
    "replace_unknowns": {"beam_size": 3, "replace_unknowns": True},
    "target_prefix": {"prefix": True},
    "target_prefix_n_best": {"prefix": True, "beam_size": 5, "num_hypotheses": 5},
    "target_prefix_greedy": {"prefix": True, "beam_size": 1},
    "target_prefix_without_length_penalty": {"prefix": True, "beam_size": 4, "length_penalty": 0},
    "target_prefix_that_is_cut": {"prefix": True, "max_decoding_length": 2, "return_attention": True},
    "prefix_bias": {"prefix": True, "beam_size": 1, "prefix_bias_beta": 0.5},
    "strong_prefix_bias": {"prefix": True, "beam_size": 4, "prefix_bias_beta": 0.99},
    "alternatives": {"prefix": True, "num_hypotheses": 5, "return_alternatives": True},
    "alternatives_greedy": {"num_hypotheses": 3, "return_alternatives": True, "beam_size": 1},
    "probable_alternatives": {
        "prefix": True,
        "num_hypotheses": 10,
        "return_alternatives": True,
        "min_alternative_expansion_prob": 0.01,
    },
    "cut_alternatives": {"num_hypotheses": 3, "return_alternatives": True, "max_decoding_length": 2},
    "one_of_one": {"beam_size": 1, "sampling_topk": 1, "sampling_temperature": 0.5},
    "samples": {"beam_size": 1, "sampling_topk": 0, "num_hypotheses": 3},
    "samples_of_five": {"beam_size": 1, "sampling_topk": 5, "sampling_temperature": 0.7, "num_hypotheses": 3},
    "samples_of_a_nucleus": {"beam_size": 1, "sampling_topk": 0, "sampling_topp": 0.8, "sampling_temperature": 1.2},
}


def rounded(value):
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 5)


def translate(folder, options):
    options = dict(options)
    prefixes = [prefix.split() for prefix in PREFIXES] if options.pop("prefix", False) else [None] * len(SOURCES)
    results = []
    translator = ctranslate2.Translator(folder)
    for source, prefix in zip(SOURCES, prefixes):
        if options.get("sampling_topk", 1) != 1:  # each sentence is the first after the seed is set
            ctranslate2.set_random_seed(46)
            translator = ctranslate2.Translator(folder)
        result = translator.translate_batch([source.split()], prefix and [prefix], return_scores=True, **options)[0]
        hypotheses = [" ".join(tokens) for tokens in result.hypotheses]
        results.append({"hypotheses": hypotheses, "scores": rounded(result.scores)})
        if result.attention:
            results[-1]["attention"] = rounded(result.attention)
    return {"options": options, "prefix": prefixes[0] is not None, "results": results}


def main():
    folder = sys.argv[1]
    scored = ctranslate2.Translator(folder).score_batch([s.split() for s in SOURCES], [t.split() for t in TARGETS])
    golden = {
        "sources": SOURCES,
        "prefixes": PREFIXES,
        "targets": TARGETS,
        "scores": [rounded(each.log_probs) for each in scored],
        "cases": {name: translate(folder, options) for name, options in CASES.items()},
    }
    text = json.dumps(golden, ensure_ascii=False)
    for mark in ('"cases"', '"results"', '"hypotheses"'):
        text = text.replace(mark, "\n" + mark)
    Path(__file__).with_name("ctranslate2.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
