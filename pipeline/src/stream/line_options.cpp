#include "line_options.h"

#include "translation/target_terms.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/option_spelling.h>
#include <dragoman/core/options.h>
#include <dragoman/decoding/option_table.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;
using core::Json;

const Json& field(const Record& record, const char* name) {
  static const Json absent;
  const auto found = record.fields.find(name);
  return found == record.fields.end() ? absent : *found;
}

std::vector<std::string> parts_of(const Json& value, const char* name) {
  std::vector<std::string> texts;
  const auto add = [&](const Json& text) {
    core::require(text.is_string(), ErrorCode::kBadInput, "{}: must be a text or a list of texts", name);
    texts.push_back(text.get<std::string>());
  };
  if (value.is_array())
    for (const Json& text : value) add(text);
  else
    add(value);
  return texts;
}

LineConstraint constraint_of(const Json& value) {
  LineConstraint constraint;
  if (!value.is_object()) {
    constraint.targets = parts_of(value, kConstraintsField);
  } else {
    core::OptionReader reader(value, kConstraintsField);
    constraint.source = reader.require_key<std::string>("source");
    constraint.targets = parts_of(reader.subtree("target"), "constraints: target");
    reader.finish();
  }
  core::require(!constraint.targets.empty(), ErrorCode::kBadInput, "{}: an empty list of texts", kConstraintsField);
  return constraint;
}

/// Reads a list of texts, of lists of alternative texts, and of objects with source and target.
std::vector<LineConstraint> constraints_of(const Json& value) {
  std::vector<LineConstraint> constraints;
  if (value.is_null()) return constraints;
  core::require(value.is_array(), ErrorCode::kBadInput, "{}: must be a list of texts or objects", kConstraintsField);
  core::require(value.size() <= kMaxConstraintsOfLine, ErrorCode::kBadInput, "{}: {} of them; a line may have {}",
                kConstraintsField, value.size(), kMaxConstraintsOfLine);
  for (const Json& element : value) constraints.push_back(constraint_of(element));
  return constraints;
}

/// Reads a record's search settings. A line may request at most the number of hypotheses of `usual`, or
/// kMaxHypothesesOfLine if that is larger.
decoding::Search read_search(const Json& value, const decoding::DecodingOptions& usual) {
  decoding::Search search;
  if (value.is_null()) return search;
  core::require(value.is_object(), ErrorCode::kBadInput, "{}: must be an object with options of the search",
                kDecodingField);
  const Json keys = core::spelled_with_underscores(value, kDecodingField);
  core::OptionReader reader(keys, kDecodingField);
  decoding::search_table().read(reader, search);
  reader.finish();
  const std::int32_t most = std::max({kMaxHypothesesOfLine, usual.beam_size, usual.n_best});
  reader.check(!search.mbr_candidates && !search.mbr_samples && !search.mbr_utility, "mbr_candidates",
               "and the other options of minimum Bayes risk are for all lines, and not for one");
  for (const auto& [key, size] : {std::pair{"beam_size", search.beam_size}, std::pair{"n_best", search.n_best}})
    reader.check(size.value_or(1) <= most, key, fmt::format("may be at most {} in a line", most));
  return search;
}

/// Returns `said` without the options about the translations that minimum Bayes risk returns. The search for its
/// candidates finds the number of hypotheses that the translator's options set.
decoding::Search take_mbr_options(decoding::Search said, RecordOptions& options) {
  if (!options.mbr) return said;
  core::require_option(!said.decoder, "decoder", ErrorCode::kInvalidArgument,
                       "{}: decoder: cannot be another than mbr, which all lines have", kDecodingField);
  said.mbr_candidates = said.mbr_utility = {};
  said.mbr_samples = {};
  if (!said.n_best) return said;
  const std::int32_t candidates = options.plan->options().n_best;
  core::require_option(*said.n_best >= 1 && *said.n_best <= candidates, "n_best", ErrorCode::kInvalidArgument,
                       "{}: n_best: must be from 1 to {}, the number of candidates", kDecodingField, candidates);
  options.mbr->n_best = *said.n_best;
  said.n_best.reset();
  return said;
}

}  // namespace

decoding::SharedSearch LineSearches::find(const decoding::SharedSearch& usual, const decoding::Search& said,
                                          const std::vector<std::string>& suppress) const {
  const auto found = std::ranges::find_if(searches_, [&](const Kept& kept) {
    return kept.usual == usual && kept.said == said && kept.suppress == suppress;
  });
  return found == searches_.end() ? nullptr : found->search;
}

decoding::SharedSearch LineSearches::get(const decoding::SharedSearch& usual, const decoding::Search& said,
                                         const std::vector<std::string>& suppress) {
  if (said == decoding::Search() && suppress.empty()) return usual;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = find(usual, said, suppress)) return found;
  }
  decoding::SharedSearch made = make(*usual, said, suppress);
  const std::lock_guard lock(mutex_);
  if (auto found = find(usual, said, suppress)) return found;
  if (searches_.size() >= kKept) searches_.clear();
  searches_.push_back({usual, said, suppress, made});
  return made;
}

decoding::SharedSearch LineSearches::make(const decoding::SearchPlan& usual, const decoding::Search& said,
                                          const std::vector<std::string>& suppress) const {
  decoding::DecodingOptions options = usual.options_with(said);
  decoding::require_all_used(options, usual.options());
  add_suppressed(model_, suppress, options);
  auto search = std::make_shared<const decoding::SearchPlan>(usual.with(std::move(options)));
  search->check(model_.model->spec());
  return search;
}

LineDemands read_line_options(Record& record, LineSearches& searches, RecordOptions& options) {
  LineDemands demands{.languages = options.languages.value_or(LanguagePair{}),
                      .target_prefix = options.target_prefix.value_or("")};
  options.plan = searches.get(options.plan, take_mbr_options(options.search, options));
  if (*options.ignore_line_options || record.failed()) return demands;
  const auto read_text = [&](const char* name, std::string& text) {
    const Json& value = field(record, name);
    if (value.is_null()) return;
    core::require(value.is_string(), ErrorCode::kBadInput, "{}: must be a text", name);
    text = value.get<std::string>();
  };
  try {
    read_text(kSourceLanguageField, demands.languages.source);
    read_text(kTargetLanguageField, demands.languages.target);
    if (const Json& prefix = field(record, kTargetPrefixField); !prefix.is_null()) {
      core::require(prefix.is_string(), ErrorCode::kBadInput, "{}: must be a text", kTargetPrefixField);
      demands.first_target_prefix = prefix.get<std::string>();
    }
    demands.constraints = constraints_of(field(record, kConstraintsField));
    const Json& suppress = field(record, kSuppressField);
    options.plan = searches.get(
        options.plan, take_mbr_options(read_search(field(record, kDecodingField), options.plan->options()), options),
        suppress.is_null() ? std::vector<std::string>() : parts_of(suppress, kSuppressField));
  } catch (const core::Error& error) {
    record.mark_failed(error.what());
  }
  return demands;
}

}  // namespace dragoman::pipeline
