#include "dragoman/formats/languages.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/nearest_name.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::Json;
using Ids = std::vector<std::int32_t>;

constexpr std::size_t kMaxTags = 64;

/// Reads a list of ids of one side's vocabulary.
Ids read_ids(core::OptionReader& options, const char* key, std::int64_t vocabulary, std::int32_t end) {
  Ids ids;
  if (!options.has(key)) return ids;
  const Json& list = options.subtree(key);
  options.check(list.is_array() && list.size() <= kMaxTags, key,
                fmt::format("must be a list of at most {} token ids", kMaxTags));
  for (const Json& id : list) {
    options.check(id.is_number_integer() && id >= 0 && id < vocabulary && id != end, key,
                  "must hold ids of the vocabulary, and not the end");
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

void put_ids(Json& json, const char* key, const Ids& ids) {
  if (!ids.empty()) json[key] = ids;
}

void append(Ids& to, const Ids& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::string list_near(const LanguageTable& table, std::string_view language) {
  std::vector<std::string> names;
  for (const auto& [name, tags] : table.languages) names.push_back(name);
  const std::string nearest = core::nearest_name(language, names);
  std::vector<std::string> shown;
  if (!nearest.empty()) shown.push_back(nearest);
  // Codes of one language in several scripts or countries have a common prefix, and so do "de" and "deu_Latn".
  constexpr std::size_t kShown = 8;
  for (const std::size_t length : {std::size_t{3}, std::size_t{2}, std::size_t{0}})
    for (const std::string& name : names)
      if (shown.size() < kShown && name.starts_with(language.substr(0, length)) &&
          std::ranges::find(shown, name) == shown.end())
        shown.push_back(name);
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > shown.size() ? ", ..." : "");
}

/// Returns nullptr if the language does not matter.
const LanguageTags* tags_of(const LanguageTable& table, std::string_view said, const std::string& usual,
                            std::string_view side, bool matters) {
  const std::string_view language = said.empty() ? std::string_view(usual) : said;
  if (language.empty()) {
    if (matters)
      core::fail(ErrorCode::kInvalidArgument,
                 "the model is of {} languages, and must be told the one of the {}: {}_language, a code; {}",
                 table.languages.size(), side, side, list_near(table, {}));
    return nullptr;
  }
  const LanguageTags* found = table.find(language);
  if (found == nullptr)
    core::fail_option(std::string(side) + "_language", ErrorCode::kInvalidArgument,
                      "{}_language: the model has no language {}; it has {}", side, core::quote(language),
                      table.languages.empty() ? "no table of languages" : list_near(table, language));
  return found;
}

}  // namespace

const LanguageTags* LanguageTable::find(std::string_view language) const {
  const auto found =
      std::ranges::find(languages, language, [](const auto& entry) { return std::string_view(entry.first); });
  return found == languages.end() ? nullptr : &found->second;
}

SequenceTags LanguageTable::tags(std::string_view source, std::string_view target) const {
  const auto matters = [this](const Ids LanguageTags::*one, const Ids LanguageTags::*other) {
    return std::ranges::any_of(
        languages, [=](const auto& entry) { return !(entry.second.*one).empty() || !(entry.second.*other).empty(); });
  };
  const LanguageTags* from = tags_of(*this, source, source_language, "source",
                                     matters(&LanguageTags::source_prefix, &LanguageTags::source_suffix));
  const LanguageTags* to = tags_of(*this, target, target_language, "target",
                                   matters(&LanguageTags::source_prefix_as_target, &LanguageTags::target_prefix));
  SequenceTags tags = always;
  if (to != nullptr) append(tags.source_prefix, to->source_prefix_as_target);
  if (from != nullptr) append(tags.source_prefix, from->source_prefix);
  if (from != nullptr) append(tags.source_suffix, from->source_suffix);
  if (to != nullptr) append(tags.target_prefix, to->target_prefix);
  return tags;
}

std::int32_t LanguageTable::tokens_of_target() const {
  const std::size_t first = languages.empty() ? 0 : languages.front().second.target_prefix.size();
  for (const auto& [code, tags] : languages)
    if (tags.target_prefix.size() != first) return 0;
  return static_cast<std::int32_t>(always.target_prefix.size() + first);
}

LanguageTable read_language_table(const Json& json, const nn::SequenceSpec& sequences, const std::string& where) {
  const auto source_ids = [&](core::OptionReader& options, const char* key) {
    return read_ids(options, key, sequences.source_vocabulary, sequences.end);
  };
  const auto target_ids = [&](core::OptionReader& options, const char* key) {
    return read_ids(options, key, sequences.target_vocabulary, sequences.end);
  };
  core::OptionReader options(json, where);
  LanguageTable table;
  core::OptionReader always = options.child("always");
  table.always = {source_ids(always, "source_prefix"), source_ids(always, "source_suffix"),
                  target_ids(always, "target_prefix"), always.get("source_end", true)};
  always.finish();
  if (options.has("table")) {
    const Json& languages = options.subtree("table");
    options.check(languages.is_object() && languages.size() <= LanguageTable::kMaxLanguages, "table",
                  fmt::format("must hold codes of languages and their tags, at most {}", LanguageTable::kMaxLanguages));
    for (const auto& [code, tags] : languages.items()) {
      options.check(!code.empty() && code.size() <= 100, "table", "has a code that is empty or too long");
      core::OptionReader own(tags, fmt::format("{}: table: {}", where, code));
      table.languages.emplace_back(
          code, LanguageTags{source_ids(own, "source_prefix"), source_ids(own, "source_suffix"),
                             source_ids(own, "source_prefix_as_target"), target_ids(own, "target_prefix")});
      own.finish();
    }
  }
  table.source_language = options.get("source", "");
  table.target_language = options.get("target", "");
  options.finish();
  for (const auto& [key, language] : {std::pair{"source", table.source_language}, {"target", table.target_language}})
    options.check(language.empty() || table.find(language) != nullptr, key, "is no language of the table");
  return table;
}

Json to_json(const LanguageTable& table) {
  Json json = Json::object();
  Json always = Json::object();
  put_ids(always, "source_prefix", table.always.source_prefix);
  put_ids(always, "source_suffix", table.always.source_suffix);
  put_ids(always, "target_prefix", table.always.target_prefix);
  if (!table.always.source_end) always["source_end"] = false;
  if (!always.empty()) json["always"] = std::move(always);
  if (!table.source_language.empty()) json["source"] = table.source_language;
  if (!table.target_language.empty()) json["target"] = table.target_language;
  if (table.languages.empty()) return json;
  Json& languages = json["table"] = Json::object();
  for (const auto& [code, tags] : table.languages) {
    Json own = Json::object();
    put_ids(own, "source_prefix", tags.source_prefix);
    put_ids(own, "source_suffix", tags.source_suffix);
    put_ids(own, "source_prefix_as_target", tags.source_prefix_as_target);
    put_ids(own, "target_prefix", tags.target_prefix);
    languages.push_back({code, std::move(own)});
  }
  return json;
}

}  // namespace dragoman::formats
