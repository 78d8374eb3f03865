#include "dragoman/decoding/option_table.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <dragoman/core/quote.h>

namespace dragoman::decoding {
namespace {

using core::Json;
using core::OptionReader;
using core::OptionTable;

constexpr std::int32_t kMostHypotheses = 10000;

OptionTable<SamplingOptions> sampling_table() {
  return OptionTable<SamplingOptions>()
      .group("Sampling (--decoder sampling or mbr)")
      .number("temperature", &SamplingOptions::temperature, core::kPositive, "X", "flatter above 1")
      .number("top_k", &SamplingOptions::top_k, {}, "N", "draw from the N most probable tokens; 0: from all")
      .number("top_p", &SamplingOptions::top_p, core::kShare, "P",
              "draw from the most probable tokens of total probability P")
      .number("seed", &SamplingOptions::seed, {}, "N", "what the draws follow from, with the number of the line");
}

/// The preset and its strength make one value.
void add_length_penalty(OptionTable<DecodingOptions>& table) {
  core::Option preset{.name = "length_penalty",
                      .placeholder = "PRESET",
                      .help = "how scores follow from lengths, and when to stop, as in another toolkit",
                      .fallback = "fairseq"};
  for (const std::string_view name : LengthPenalty::kPresets) preset.choices.emplace_back(name);
  core::Option alpha{.name = "alpha",
                     .placeholder = "X",
                     .help = "strength of the length penalty (default: the preset's)",
                     .parse = core::number_parser(core::kAnyNumber)};
  table.custom({std::move(preset), std::move(alpha)}, [](OptionReader& reader, DecodingOptions& options) {
    if (!reader.has("length_penalty") && !reader.has("alpha")) return;
    const auto name = reader.get("length_penalty", "fairseq");
    reader.check(
        std::ranges::find(LengthPenalty::kPresets, name) != LengthPenalty::kPresets.end(), "length_penalty",
        fmt::format("is {}; it must be one of: {}", core::quote(name), fmt::join(LengthPenalty::kPresets, ", ")));
    std::optional<double> strength;
    if (reader.has("alpha")) strength = reader.get("alpha", 1.0);
    options.length_penalty = LengthPenalty::preset(name, strength);
  });
}

/// "5", "[5, 9]" or "[[5, 9]]": tokens, and sequences of them.
Json parse_suppressed(const std::string& word) {
  const core::ParsedJson parsed = core::try_parse_json(word);
  core::require(parsed.problem.empty(), core::ErrorCode::kInvalidArgument, "must be ids of tokens: 5, [5, 9]");
  return parsed.tree.is_array() ? parsed.tree : Json::array({parsed.tree});
}

void add_suppressed(OptionTable<DecodingOptions>& table) {
  core::Option option{.name = "suppress_tokens",
                      .placeholder = "[ID, ...]",
                      .help =
                          "tokens that are never chosen, by id; a list of ids among them is a sequence of tokens "
                          "that no translation holds",
                      .parse = parse_suppressed,
                      .repeated = true};
  table.custom({std::move(option)}, [](OptionReader& reader, DecodingOptions& options) {
    constexpr std::size_t kMost = 10000;
    if (!reader.has("suppress_tokens")) return;
    const Json& list = reader.subtree("suppress_tokens");
    reader.check(list.is_array() && list.size() <= kMost, "suppress_tokens", "must be a list of ids of tokens");
    for (const Json& entry : list) {
      const Json sequence = entry.is_array() ? entry : Json::array({entry});
      std::vector<std::int32_t> tokens;
      for (const Json& id : sequence) {
        reader.check(id.is_number_integer() && id >= 0 && id < (1 << 24), "suppress_tokens",
                     "must hold ids of tokens, and lists of them");
        tokens.push_back(id.get<std::int32_t>());
      }
      reader.check(!tokens.empty() && tokens.size() <= kMost, "suppress_tokens", "holds an empty or endless sequence");
      options.suppressed.push_back(std::move(tokens));
    }
  });
}

OptionTable<DecodingOptions> make_table() {
  using Options = DecodingOptions;
  OptionTable<Options> table;
  table.group("Search")
      .text("decoder", &Options::strategy, "NAME", "beam, greedy, sampling, mbr (minimum Bayes risk), or a plugin's")
      .number("beam_size", &Options::beam_size, {.least = 1, .most = kMostHypotheses}, "N", "hypotheses kept")
      .number("n_best", &Options::n_best, {.least = 1, .most = kMostHypotheses}, "N", "hypotheses returned (jsonl)");
  add_length_penalty(table);
  table
      .number("coverage_penalty", &Options::coverage_penalty, {}, "X",
              "score less what leaves source tokens unattended; needs a model with an alignment; 0: off")
      .number("patience", &Options::patience, {.least = 0, .most = 1000, .least_included = false}, "X",
              "above 1: look at more ended hypotheses before stopping")
      .number("beam_groups", &Options::beam_groups, {.least = 1, .most = kMostHypotheses}, "G",
              "diverse beam search: groups that divide the beam and avoid each other's tokens; 1: off")
      .number("diversity_strength", &Options::diversity_strength, {}, "X",
              "what a token costs for each time that an earlier group has chosen it in the same step")
      .number("minimum_length", &Options::minimum_length, {}, "N",
              "shortest translation in tokens; never more than the longest that is allowed")
      .number("minimum_length_factor", &Options::minimum_length_factor, {.least = 0, .most = 1000}, "X",
              "shortest translation, in source tokens")
      .number("maximum_length", &Options::maximum_length, {}, "N",
              "longest translation in tokens; 0: as the factor and the offset say")
      .number("maximum_length_factor", &Options::maximum_length_factor, {.least = 0, .most = 1000}, "X",
              "longest translation, in source tokens")
      .number("maximum_length_offset", &Options::maximum_length_offset, {}, "N", "and so many tokens more")
      .number("repetition_penalty", &Options::repetition_penalty, {.least = 0.001, .most = 1000}, "X",
              "above 1: repeat less")
      .number("no_repeat_ngram", &Options::no_repeat_ngram, {}, "N", "no N-gram of tokens twice; 0: off");
  add_suppressed(table);
  table.flag("suppress_unknown", &Options::suppress_unknown, "never choose the unknown token")
      .flag("replace_unknown", &Options::replace_unknown, "put the source word in the place of an unknown token")
      .flag("alignment", &Options::want_alignment, "report attention weights (jsonl)")
      .include(&Options::sampling, sampling_table());
  return table;
}

}  // namespace

const OptionTable<DecodingOptions>& option_table() {
  static const OptionTable<DecodingOptions> table = make_table();
  return table;
}

}  // namespace dragoman::decoding
