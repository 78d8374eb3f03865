#pragma once

#include "definition/composed_definition.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Reads a `tokenizer.json`. Every message begins with `name`. Throws Error{kBadInput}, or Error{kUnsupported} for
/// valid files that use unsupported parts of the format. References between parts are checked here; BpeModel checks the
/// meaning of the pieces. `log` receives one warning if the file has truncation or padding, which encode() ignores.
BpeDefinition read_tokenizer_json(std::string_view text, const std::string& name, const core::LogSink& log = {});

/// Reads any `tokenizer.json`. The result is a BpeDefinition for the layouts that it supports, otherwise the parts of
/// which the tokenizer is composed.
std::variant<BpeDefinition, ComposedDefinition> read_any_tokenizer_json(std::string_view text, const std::string& name,
                                                                        const core::LogSink& log = {});

/// Like read_any_tokenizer_json(), but also returns the parts for a layout that BpeDefinition supports.
ComposedDefinition read_composed_tokenizer_json(std::string_view text, const std::string& name,
                                                const core::LogSink& log = {});

std::string write_tokenizer_json(const BpeDefinition& definition);
/// Writes a unigram model in place of the merges. `unigram` has a score for each of the pieces.
std::string write_unigram_json(const BpeDefinition& parts, const UnigramOfWords& unigram);

inline constexpr std::pair<PrependScheme, std::string_view> kPrependSchemes[] = {
    {PrependScheme::kAlways, "always"}, {PrependScheme::kFirst, "first"}, {PrependScheme::kNever, "never"}};

/// Returns the regular expression of the decoder step that drops a space after a user-defined symbol: (?<=A|B) and a
/// space.
std::string space_after_symbols_pattern(const std::vector<std::string>& symbols);
/// Returns the regular expression of a normalizer step that requires one, otherwise an empty string.
std::string regular_expression(const NormalizerStep& step);
/// Returns the texts of the added tokens that are not special, in the order of the definition.
std::vector<std::string> user_symbols(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
