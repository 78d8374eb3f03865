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

/// Reads a `tokenizer.json`; `name` begins every message. Throws Error{kBadInput} or, for valid files that use more
/// than the supported parts of the format, Error{kUnsupported}. Cross-references are checked; what the pieces mean is
/// BpeModel's to check. `log` receives one warning if the file has truncation or padding, which encode() does not do.
BpeDefinition read_tokenizer_json(std::string_view text, const std::string& name, const core::LogSink& log = {});

/// The same for any `tokenizer.json`: with the layouts that BpeDefinition has, that, and else the parts it is put
/// together of.
std::variant<BpeDefinition, ComposedDefinition> read_any_tokenizer_json(std::string_view text, const std::string& name,
                                                                        const core::LogSink& log = {});

std::string write_tokenizer_json(const BpeDefinition& definition);
/// Writes a unigram model in place of the merges; `unigram` has a score for each of the pieces.
std::string write_unigram_json(const BpeDefinition& parts, const UnigramOfWords& unigram);

inline constexpr std::pair<PrependScheme, std::string_view> kPrependSchemes[] = {
    {PrependScheme::kAlways, "always"}, {PrependScheme::kFirst, "first"}, {PrependScheme::kNever, "never"}};

/// The regular expression of the decoder step that drops a space after a user-defined symbol: (?<=A|B) and a space.
std::string space_after_symbols_pattern(const std::vector<std::string>& symbols);
/// The regular expression of a normalizer step that only these can express, or empty.
std::string regular_expression(const NormalizerStep& step);
/// The texts of the added tokens that are not special, in their order in the definition.
std::vector<std::string> user_symbols(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
