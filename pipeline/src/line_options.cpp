#include "line_options.h"

#include "target_terms.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
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

std::vector<std::string> texts_of(const Json& value, const char* name) {
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
    constraint.targets = texts_of(value, kConstraintsField);
  } else {
    core::OptionReader reader(value, kConstraintsField);
    constraint.source = reader.require_key<std::string>("source");
    constraint.targets = texts_of(reader.subtree("target"), "constraints: target");
    reader.finish();
  }
  core::require(!constraint.targets.empty(), ErrorCode::kBadInput, "{}: an empty list of texts", kConstraintsField);
  return constraint;
}

/// A list of texts, of lists of texts any of which will do, and of objects with source and target.
std::vector<LineConstraint> constraints_of(const Json& value) {
  std::vector<LineConstraint> constraints;
  if (value.is_null()) return constraints;
  core::require(value.is_array(), ErrorCode::kBadInput, "{}: must be a list of texts or objects", kConstraintsField);
  core::require(value.size() <= kMostConstraintsOfLine, ErrorCode::kBadInput, "{}: {} of them; a line may have {}",
                kConstraintsField, value.size(), kMostConstraintsOfLine);
  for (const Json& element : value) constraints.push_back(constraint_of(element));
  return constraints;
}

/// Keys may be spelled with '-', as in a pipeline.
Json spelled_with_underscores(const Json& object) {
  Json result = Json::object();
  for (const auto& [key, value] : object.items()) {
    std::string name = key;
    std::ranges::replace(name, '-', '_');
    result[name] = value;
  }
  return result;
}

/// The options without those of minimum Bayes risk, whose search finds candidates, as many as the user said.
Json take_mbr_options(const Json& decoding, RecordOptions& options) {
  if (!options.mbr || !decoding.is_object()) return decoding;
  Json rest = spelled_with_underscores(decoding);
  core::OptionReader reader(rest, kDecodingField);
  reader.check(!reader.has("decoder"), "decoder", "cannot be another in a line than mbr, which all lines have");
  const std::int32_t candidates = options.search->options().n_best;
  options.mbr->n_best = reader.get("n_best", options.mbr->n_best);
  reader.check(options.mbr->n_best >= 1 && options.mbr->n_best <= candidates, "n_best",
               fmt::format("must be from 1 to {}, the number of candidates", candidates));
  rest.erase("n_best");
  return rest.empty() ? Json() : rest;
}

}  // namespace

decoding::SharedSearch LineSearches::get(const decoding::SharedSearch& usual, const Json& decoding,
                                         const Json& suppress) {
  if (decoding.is_null() && suppress.is_null()) return usual;
  const std::pair key(usual, core::one_line(Json::array({decoding, suppress})));
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = searches_.find(key); found != searches_.end()) return found->second;
  }
  decoding::SharedSearch made = make(*usual, decoding, suppress);
  const std::lock_guard lock(mutex_);
  if (searches_.size() >= kKept) searches_.clear();
  return searches_.emplace(key, std::move(made)).first->second;
}

decoding::SharedSearch LineSearches::make(const decoding::Search& usual, const Json& decoding,
                                          const Json& suppress) const {
  decoding::DecodingOptions options = usual.options();
  if (!decoding.is_null()) {
    core::require(decoding.is_object(), ErrorCode::kBadInput, "{}: must be an object with options of the search",
                  kDecodingField);
    const Json keys = spelled_with_underscores(decoding);
    core::OptionReader reader(keys, kDecodingField);
    decoding::option_table().read(reader, options);
    reader.finish();
    const std::int32_t most = std::max({kMostHypothesesOfLine, usual.options().beam_size, usual.options().n_best});
    reader.check(options.beam_size <= most, "beam_size", fmt::format("may be at most {} in a line", most));
    reader.check(options.n_best <= most, "n_best", fmt::format("may be at most {} in a line", most));
  }
  if (!suppress.is_null()) add_suppressed(model_, texts_of(suppress, kSuppressField), options);
  auto search = std::make_shared<const decoding::Search>(usual.with(std::move(options)));
  search->check(model_.model->spec());
  return search;
}

LineDemands read_line_options(Record& record, LineSearches& searches, RecordOptions& options) {
  LineDemands demands{.languages = options.languages.value_or(LanguagePair{}),
                      .target_prefix = options.target_prefix.value_or("")};
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
    const Json decoding = take_mbr_options(field(record, kDecodingField), options);
    options.search = searches.get(options.search, decoding, field(record, kSuppressField));
  } catch (const core::Error& error) {
    record.mark_failed(error.what());
  }
  return demands;
}

}  // namespace dragoman::pipeline
