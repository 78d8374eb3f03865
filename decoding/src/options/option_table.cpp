#include "dragoman/decoding/option_table.h"

#include "dragoman/decoding/options.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>

namespace dragoman::decoding {
namespace {

using core::Json;
using core::OptionReader;
using core::OptionTable;

constexpr std::int32_t kMaxHypotheses = 10000;

/// The preset and its strength belong together: a user who names a preset does not mean the strength of another one.
void add_length_penalty(OptionTable<Search>& table, const LengthPenalty& usual) {
  core::Option preset{.name = "length_penalty",
                      .placeholder = "PRESET",
                      .help = "length normalisation and stop rule of a toolkit",
                      .fallback = Json(std::string(usual.name))};
  for (const std::string_view name : LengthPenalty::kPresets) preset.choices.emplace_back(name);
  core::Option alpha{.name = "alpha",
                     .placeholder = "X",
                     .help = "strength of the length penalty (default: the preset's)",
                     .parse = core::number_parser(core::kAnyNumber)};
  table.custom(
      {std::move(preset), std::move(alpha)},
      [](OptionReader& reader, Search& search) {
        if (reader.has("length_penalty")) {
          const auto name = reader.get("length_penalty", std::string());
          // In other toolkits, the length penalty is a number.
          const bool is_number = !name.empty() && name.find_first_not_of("+-.0123456789e") == std::string::npos;
          reader.check(
              std::ranges::find(LengthPenalty::kPresets, name) != LengthPenalty::kPresets.end(), "length_penalty",
              fmt::format("is {}; it must be one of: {}{}", core::quote(name), fmt::join(LengthPenalty::kPresets, ", "),
                          is_number ? "; a number is the strength, `alpha`" : ""));
          search.length_penalty = name;
        }
        if (reader.has("alpha")) search.alpha = reader.get("alpha", 0.0);
      },
      [](const Search& search, Json& json) {
        if (search.length_penalty) json["length_penalty"] = *search.length_penalty;
        if (search.alpha) json["alpha"] = *search.alpha;
      },
      [](Search& search, const Search& behind) {
        if (!search.length_penalty && !search.alpha) search.alpha = behind.alpha;
        if (!search.length_penalty) search.length_penalty = behind.length_penalty;
      });
}

/// "5", "[5, 9]" or "[[5, 9]]": tokens, and sequences of tokens.
Json parse_token_ids(const std::string& word) {
  const core::ParsedJson parsed = core::try_parse_json(word);
  core::require(parsed.problem.empty(), core::ErrorCode::kInvalidArgument, "must be ids of tokens: 5, [5, 9]");
  return parsed.tree.is_array() ? parsed.tree : Json::array({parsed.tree});
}

/// The limits of lists of tokens.
constexpr std::size_t kMaxTokens = 10000;
constexpr std::int32_t kMaxTokenId = (1 << 24) - 1;

Json token_list_schema(const Json& items) {
  return {{"items", items}, {"maxItems", kMaxTokens}};
}

Json token_id_schema() {
  return {{"type", "integer"}, {"minimum", 0}, {"maximum", kMaxTokenId}};
}

bool is_token_id(const Json& id) {
  return id.is_number_integer() && id >= 0 && id <= kMaxTokenId;
}

void add_suppress_tokens(OptionTable<Search>& table) {
  Json ids = token_list_schema(token_id_schema());
  ids["type"] = "array";
  ids["minItems"] = 1;
  const Json one_or_more{{"oneOf", {token_id_schema(), std::move(ids)}}};
  core::Option option{.name = "suppress_tokens",
                      .placeholder = "[ID, ...]",
                      .help =
                          "ids of tokens that are never generated; an inner list of ids is a sequence of tokens that "
                          "is never generated",
                      .parse = parse_token_ids,
                      .repeated = true,
                      .schema = token_list_schema(one_or_more)};
  table.custom(
      {std::move(option)},
      [](OptionReader& reader, Search& search) {
        if (!reader.has("suppress_tokens")) return;
        const Json& list = reader.subtree("suppress_tokens");
        reader.check(list.is_array() && list.size() <= kMaxTokens, "suppress_tokens",
                     "must be a list of ids of tokens");
        auto& suppressed = search.suppress_tokens.emplace();
        for (const Json& entry : list) {
          const Json sequence = entry.is_array() ? entry : Json::array({entry});
          std::vector<std::int32_t> tokens;
          for (const Json& id : sequence) {
            reader.check(is_token_id(id), "suppress_tokens", "must hold ids of tokens, and lists of them");
            tokens.push_back(id.get<std::int32_t>());
          }
          reader.check(!tokens.empty() && tokens.size() <= kMaxTokens, "suppress_tokens",
                       "holds an empty or endless sequence");
          suppressed.push_back(std::move(tokens));
        }
      },
      [](const Search& search, Json& json) {
        if (search.suppress_tokens) json["suppress_tokens"] = *search.suppress_tokens;
      },
      [](Search& search, const Search& behind) {
        if (!search.suppress_tokens) search.suppress_tokens = behind.suppress_tokens;
      });
}

void add_end_tokens(OptionTable<Search>& table) {
  core::Option option{.name = "end_tokens",
                      .placeholder = "[ID, ...]",
                      .help = "ids of the tokens that end a translation, instead of the model's end",
                      .parse = parse_token_ids,
                      .repeated = true,
                      .schema = token_list_schema(token_id_schema())};
  table.custom(
      {std::move(option)},
      [](OptionReader& reader, Search& search) {
        if (!reader.has("end_tokens")) return;
        const Json& list = reader.subtree("end_tokens");
        reader.check(list.is_array() && list.size() <= kMaxTokens, "end_tokens", "must be a list of ids of tokens");
        auto& ends = search.end_tokens.emplace();
        for (const Json& id : list) {
          reader.check(is_token_id(id), "end_tokens", "must hold ids of tokens");
          ends.push_back(id.get<std::int32_t>());
        }
      },
      [](const Search& search, Json& json) {
        if (search.end_tokens) json["end_tokens"] = *search.end_tokens;
      },
      [](Search& search, const Search& behind) {
        if (!search.end_tokens) search.end_tokens = behind.end_tokens;
      });
}

template <class Choices>
std::vector<std::string> names_of(const Choices& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.emplace_back(name);
  return names;
}

OptionTable<Search> make_table() {
  const DecodingOptions usual;
  OptionTable<Search> table;
  table.group("Search")
      .text("decoder", &Search::decoder, usual.strategy, "NAME",
            "beam, greedy, sampling, mbr (minimum Bayes risk), or a decoder of a plugin")
      .number("beam_size", &Search::beam_size, usual.beam_size, {.least = 1, .most = kMaxHypotheses}, "N",
              "number of hypotheses in the beam")
      .number("n_best", &Search::n_best, usual.n_best, {.least = 1, .most = kMaxHypotheses}, "N",
              "number of translations to return (jsonl)");
  add_length_penalty(table, usual.length_penalty);
  table
      .number("coverage_penalty", &Search::coverage_penalty, usual.coverage_penalty, {}, "X",
              "penalty for source tokens without attention; requires a model with an alignment; 0: off")
      .number("patience", &Search::patience, usual.patience, {.least = 0, .most = 1000, .least_included = false}, "X",
              "above 1: wait for more ended hypotheses before stopping")
      .number("beam_groups", &Search::beam_groups, usual.beam_groups, {.least = 1, .most = kMaxHypotheses}, "G",
              "diverse beam search: number of groups that divide the beam and avoid each other's tokens; 1: off")
      .number(
          "diversity_strength", &Search::diversity_strength, usual.diversity_strength, {}, "X",
          "diverse beam search: penalty of a token for each time that an earlier group has chosen it in the same step")
      .number("minimum_length", &Search::minimum_length, usual.minimum_length, {}, "N",
              "minimum length of a translation in tokens; never more than the maximum length")
      .number("minimum_length_factor", &Search::minimum_length_factor, usual.minimum_length_factor,
              {.least = 0, .most = 1000}, "X", "minimum length as a multiple of the source length")
      .number("maximum_length", &Search::maximum_length, usual.maximum_length, {}, "N",
              "maximum length of a translation in tokens; 0: given by the factor and the offset")
      .number("maximum_length_factor", &Search::maximum_length_factor, usual.maximum_length_factor,
              {.least = 0, .most = 1000}, "X", "maximum length as a multiple of the source length")
      .number("maximum_length_offset", &Search::maximum_length_offset, usual.maximum_length_offset, {}, "N",
              "number of tokens to add to this multiple")
      .number("repetition_penalty", &Search::repetition_penalty, usual.repetition_penalty,
              {.least = 0.001, .most = 1000}, "X", "above 1: penalise repeated tokens")
      .number("no_repeat_ngram", &Search::no_repeat_ngram, usual.no_repeat_ngram, {}, "N",
              "generate no N-gram of tokens twice; 0: off");
  add_suppress_tokens(table);
  table.flag("suppress_unknown", &Search::suppress_unknown, usual.suppress_unknown, "never generate the unknown token")
      .flag("replace_unknown", &Search::replace_unknown, usual.replace_unknown,
            "replace an unknown token by the source word that it attends to")
      .flag("alignment", &Search::alignment, usual.want_alignment, "report attention weights (jsonl)")
      .choice("prefix_role", &Search::prefix_role, name_of_choice(kPrefixRoles, usual.prefix_role),
              names_of(kPrefixRoles), "ROLE",
              "how a target prefix counts in scores: scored, given (its log probabilities count as 0) or context "
              "(its tokens do not count towards the length either)")
      .flag("cut_at_maximum", &Search::cut_at_maximum, usual.cut_at_maximum,
            "cut a translation with the token that reaches the maximum length, instead of giving it one more step to "
            "end");
  add_end_tokens(table);
  table.group("Sampling (decoder sampling or mbr)")
      .number("temperature", &Search::temperature, usual.sampling.temperature, {.least = 0.001}, "X",
              "temperature of sampling; above 1: a flatter distribution")
      .number("top_k", &Search::top_k, usual.sampling.top_k, {}, "N",
              "draw from the N most probable tokens; 0: from all")
      .number("top_p", &Search::top_p, usual.sampling.top_p, core::kShare, "P",
              "draw from the most probable tokens with total probability P")
      .number("seed", &Search::seed, usual.sampling.seed, {}, "N",
              "seed of the random draws, combined with the line number")
      .group("Minimum Bayes risk (decoder mbr)")
      .choice("mbr_candidates", &Search::mbr_candidates, name_of_choice(kMbrCandidates, usual.mbr.candidates),
              names_of(kMbrCandidates), "KIND",
              "samples (drawn with the sampling options) or beam (the results of a beam search)")
      .number("mbr_samples", &Search::mbr_samples, usual.mbr.samples, {.least = 1, .most = 1000}, "N",
              "number of samples; the cost of comparing them grows quadratically")
      .choice("mbr_utility", &Search::mbr_utility, name_of_choice(kMbrUtilities, usual.mbr.utility),
              names_of(kMbrUtilities), "METRIC", "metric that compares candidates, sentence by sentence");
  return table;
}

}  // namespace

const OptionTable<Search>& search_table() {
  static const OptionTable<Search> table = make_table();
  return table;
}

}  // namespace dragoman::decoding
