#pragma once

#include "test_data.h"

#include <memory>
#include <string>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/evaluation/chrf.h>
#include <dragoman/evaluation/ter.h>

namespace dragoman::testing {

using Streams = std::vector<std::vector<std::string>>;

/// expected.json: what sacreBLEU said, see golden/make_golden.py.
inline const core::Json& expected() {
  static const core::Json json = core::load_json(golden_file("expected.json").string());
  return json;
}

/// The lines as they are: unlike evaluation::read_text_file, this keeps white space at their ends.
inline std::vector<std::string> golden_lines(const std::string& name) {
  core::LineReader reader(golden_file(name));
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

inline std::vector<std::string> hypotheses() {
  return golden_lines("hypothesis.txt");
}

inline Streams references(std::size_t count) {
  Streams streams{golden_lines("reference.0.txt"), golden_lines("reference.1.txt")};
  streams.resize(count);
  return streams;
}

inline evaluation::BleuTokenizer tokenizer_named(const std::string& name) {
  using enum evaluation::BleuTokenizer;
  for (const auto tokenizer : {k13a, kInternational, kCharacter, kNone, kChinese})
    if (tokenizer_name(tokenizer) == name) return tokenizer;
  throw std::invalid_argument(name);
}

inline evaluation::BleuSmoothing smoothing_named(const std::string& name) {
  using enum evaluation::BleuSmoothing;
  return name == "exp" ? kExponential : name == "floor" ? kFloor : name == "add-k" ? kAddK : kNone;
}

/// The metric that sacreBLEU makes of these keyword arguments.
inline std::unique_ptr<evaluation::Metric> make_metric(const std::string& name, const core::Json& json) {
  core::OptionReader options(json, name);
  std::unique_ptr<evaluation::Metric> metric;
  if (name == "bleu") {
    evaluation::BleuOptions bleu{.tokenizer = tokenizer_named(options.get("tokenize", "13a")),
                                 .smoothing = smoothing_named(options.get("smooth_method", "exp")),
                                 .smoothing_value = std::nullopt,
                                 .lowercase = options.get("lowercase", false),
                                 .effective_order = options.get("effective_order", false),
                                 .max_order = options.get("max_ngram_order", 4)};
    if (options.has("smooth_value")) bleu.smoothing_value = options.get("smooth_value", 0.0);
    metric = std::make_unique<evaluation::Bleu>(bleu);
  } else if (name == "chrf") {
    metric = std::make_unique<evaluation::Chrf>(
        evaluation::ChrfOptions{.char_order = options.get("char_order", 6),
                                .word_order = options.get("word_order", 0),
                                .beta = options.get("beta", 2),
                                .lowercase = options.get("lowercase", false),
                                .whitespace = options.get("whitespace", false),
                                .eps_smoothing = options.get("eps_smoothing", false)});
  } else {
    metric = std::make_unique<evaluation::Ter>(
        evaluation::TerOptions{.normalized = options.get("normalized", false),
                               .no_punct = options.get("no_punct", false),
                               .asian_support = options.get("asian_support", false),
                               .case_sensitive = options.get("case_sensitive", false)});
  }
  options.finish();
  return metric;
}

/// sacreBLEU's text or signature with our version in the place of its own; everything else must be equal.
inline std::string with_our_version(std::string text, const evaluation::Score& ours) {
  const std::string theirs = "version:" + expected()["sacrebleu"].get<std::string>();
  return text.replace(text.find(theirs), theirs.size(), ours.signature.substr(ours.signature.rfind("version:")));
}

}  // namespace dragoman::testing
