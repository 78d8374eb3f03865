#include "checks.h"
#include "extension_checks.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/decoding/model_stepper.h>

namespace dragoman::plugins {
namespace {

using decoding::Hypothesis;
using Results = std::vector<std::vector<Hypothesis>>;

std::vector<decoding::Sentence> example_sentences() {
  constexpr std::uint64_t kStream = 500;
  std::vector<decoding::Sentence> sentences;
  for (std::uint64_t i = 0; i < 6; ++i) {
    decoding::Sentence& sentence = sentences.emplace_back();
    for (std::uint64_t word = 0; word < i; ++word) sentence.source.push_back(random_token(kStream + i, word));
    sentence.source.push_back(example_spec().end);
    sentence.line = i + 1;
  }
  return sentences;
}

class SearchBench {
 public:
  SearchBench(const Host& host, decoding::SharedSearch search)
      : subject_(host.registry().models().get("transformer"), host.runtime(), {.packed = tensor::ComputeType::kF32}),
        search_(std::move(search)) {}

  Results run(const std::vector<decoding::Sentence>& sentences, const decoding::LoopLimits& limits = {}) {
    decoding::ModelStepper stepper(subject_.model(), subject_.context());
    return decoding::decode_all(stepper, sentences, search_, limits);
  }

  /// Runs each sentence twice, with the search under test and with beam search. Returns the results of the search under
  /// test.
  Results run_beside_others(const std::vector<decoding::Sentence>& sentences) {
    const auto beam = std::make_shared<const decoding::SearchPlan>(decoding::DecodingOptions{.beam_size = 3});
    std::vector<decoding::Sentence> both;
    for (const decoding::Sentence& sentence : sentences) {
      both.push_back(sentence);
      both.push_back(sentence);
      both.back().search = beam;
    }
    const Results all = run(both);
    Results own;
    for (std::size_t i = 0; i < all.size(); i += 2) own.push_back(all[i]);
    return own;
  }

  Results one_by_one(const std::vector<decoding::Sentence>& sentences) {
    Results results;
    for (const decoding::Sentence& sentence : sentences) results.push_back(run({sentence}).front());
    return results;
  }

 private:
  Subject subject_;
  decoding::SharedSearch search_;
};

bool same(const Hypothesis& a, const Hypothesis& b) {
  return a.tokens == b.tokens && a.log_probability == b.log_probability && a.score == b.score &&
         a.stopped_by == b.stopped_by;
}

/// Returns the first sentence whose results differ, or -1.
std::int64_t first_difference(const Results& a, const Results& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::ranges::equal(a[i], b[i], same)) return static_cast<std::int64_t>(i);
  return -1;
}

std::string complaint_about(const std::vector<Hypothesis>& hypotheses) {
  const nn::SequenceSpec spec = example_spec();
  if (hypotheses.empty()) return "has no hypothesis";
  for (const Hypothesis& hypothesis : hypotheses) {
    double sum = 0;
    for (const double value : hypothesis.token_log_probabilities) sum += value;
    if (std::ranges::find(hypothesis.tokens, spec.end) != hypothesis.tokens.end())
      return "has an end within its tokens";
    if (static_cast<std::int32_t>(hypothesis.tokens.size()) > spec.maximum_target_length) return "is too long";
    if (!std::isfinite(hypothesis.log_probability) || hypothesis.log_probability > 1e-9)
      return fmt::format("has the log probability {}", hypothesis.log_probability);
    if (std::abs(sum - hypothesis.log_probability) > 1e-9 * (1 + std::abs(sum)))
      return fmt::format("has the log probability {} where its tokens' sum to {}", hypothesis.log_probability, sum);
  }
  return {};
}

Finding check_results(SearchBench& bench) {
  const Results results = bench.run(example_sentences());
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string complaint = complaint_about(results[i]);
    if (!complaint.empty()) return {false, fmt::format("sentence {} {}", i, complaint)};
    tokens += static_cast<std::int64_t>(results[i].front().tokens.size());
  }
  return {true, fmt::format("{} sentences, {} tokens: every one ends, lengths and probabilities are as they must be",
                            results.size(), tokens)};
}

Finding check_search_invariance(SearchBench& bench) {
  std::vector<decoding::Sentence> sentences = example_sentences();
  const Results alone = bench.one_by_one(sentences);
  const auto differs = [&](const Results& other, std::string_view how) -> Finding {
    const std::int64_t at = first_difference(alone, other);
    if (at < 0) return {true, {}};
    return {false, fmt::format("sentence {} has another translation alone than {}: a decision depends on more than "
                               "its own sentence",
                               at, how)};
  };
  if (Finding finding = differs(bench.run(sentences), "among others"); !finding.passed) return finding;
  if (Finding finding = differs(bench.run(sentences, {.maximum_rows = 1}), "in a narrow pool"); !finding.passed)
    return finding;
  if (Finding finding = differs(bench.run_beside_others(sentences), "beside sentences of another search");
      !finding.passed)
    return finding;
  std::ranges::reverse(sentences);
  Results reversed = bench.run(sentences);
  std::ranges::reverse(reversed);
  if (Finding finding = differs(reversed, "in another order"); !finding.passed) return finding;
  return {true, "alone, among others, beside another search, in a narrow pool and in another order: equal bits"};
}

std::vector<Verdict> check_search(const Host& host, const std::string& name, const decoding::SharedSearch& search) {
  const std::pair<const char*, Finding (*)(SearchBench&)> checks[] = {{"results", check_results},
                                                                      {"batch-invariance", check_search_invariance}};
  std::vector<Verdict> verdicts;
  for (const auto& [check, run] : checks) {
    Finding finding;
    try {
      SearchBench bench(host, search);
      finding = run(bench);
    } catch (const std::exception& error) {
      finding = {false, fmt::format("threw: {}", error.what())};
    }
    verdicts.push_back({name, "reference", check, finding.passed, finding.detail});
  }
  return verdicts;
}

/// Calls a factory without options.
template <class Make>
auto make_without_options(Make make) {
  const core::Json none = core::Json::object();
  core::OptionReader own(none, "own options");
  return make(own);
}

}  // namespace

std::vector<Verdict> check_search_strategy(const Host& host, const SearchStrategyEntry& entry) {
  const decoding::DecodingOptions options;
  const auto make = [&] {
    return make_without_options([&](core::OptionReader& own) { return entry.make(options, own); });
  };
  return check_search(host, entry.name, std::make_shared<const decoding::SearchPlan>(options, make));
}

std::vector<Verdict> check_logits_processor(const Host& host, const LogitsProcessorEntry& entry) {
  const decoding::DecodingOptions options{.strategy = "greedy"};
  const auto make_processors = [&](const nn::SequenceSpec& spec) {
    decoding::LogitsProcessors processors;
    processors.push_back(make_without_options([&](core::OptionReader& own) { return entry.make(spec, own); }));
    return processors;
  };
  const auto make_greedy = [&] { return decoding::make_strategy(options); };
  return check_search(host, entry.name,
                      std::make_shared<const decoding::SearchPlan>(options, make_greedy, make_processors));
}

}  // namespace dragoman::plugins
