#include "dragoman/tokenizer/library_tokenizer.h"

#include "composed/composed_tokenizer.h"
#include "json/tokenizer_json.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include <dragoman/core/error.h>
#include <dragoman/core/lazy.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

/// Returns the number of characters that begin before each byte of a text, and before its end.
/// A byte inside a character has the number of its first byte.
std::vector<std::int64_t> characters_before(std::string_view text) {
  std::vector<std::int64_t> before;
  before.reserve(text.size() + 1);
  std::int64_t characters = 0;
  for (const char c : text) {
    const bool inside = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    before.push_back(inside ? characters - 1 : characters);
    if (!inside) ++characters;
  }
  before.push_back(characters);
  return before;
}

/// Converts offsets in bytes to offsets in characters. An empty range at the end of the text remains in bytes, as in
/// the library.
std::vector<LibraryTokenizer::Token> in_characters(std::vector<LibraryToken> tokens, std::string_view text) {
  const std::vector<std::int64_t> before = characters_before(text);
  std::vector<LibraryTokenizer::Token> converted;
  converted.reserve(tokens.size());
  for (LibraryToken& token : tokens) {
    const bool beyond = token.begin >= text.size();
    const std::int64_t begin = beyond ? static_cast<std::int64_t>(token.begin) : before[token.begin];
    const std::int64_t end = beyond ? static_cast<std::int64_t>(token.end) : before[std::min(token.end, text.size())];
    converted.push_back({token.id, token.word, begin, end, std::move(token.text)});
  }
  return converted;
}

ComposedDefinition composed_definition(std::string_view json, const std::string& name, const core::LogSink& log) {
  ComposedDefinition definition = read_composed_tokenizer_json(json, name, log);
  if (auto* merges = std::get_if<MergesOfWords>(&definition.model)) merges->definition.drops_unknown = true;
  return definition;
}

}  // namespace

struct LibraryTokenizer::Impl {
  Impl(std::string text, std::string shown_name, const core::LogSink& log)
      : json(std::move(text)), name(std::move(shown_name)), ids(fast_tokenizer(log)) {
    if (ids == nullptr) ids = std::make_shared<ComposedTokenizer>(composed_definition(json, name, log), name);
  }

  /// Returns the tokenizer for the layouts that have a faster one, otherwise null.
  std::shared_ptr<const Tokenizer> fast_tokenizer(const core::LogSink& log) const {
    auto definition = read_any_tokenizer_json(json, name, log);
    auto* merges = std::get_if<BpeDefinition>(&definition);
    if (merges == nullptr) return nullptr;
    merges->drops_unknown = true;
    try {
      return std::make_shared<BpeTokenizer>(std::move(*merges), name);
    } catch (const core::Error& error) {
      // Merges may spell an added token, which only the other one allows.
      if (error.code() != core::ErrorCode::kBadInput) throw;
      return nullptr;
    }
  }

  const ComposedTokenizer& composed() const {
    if (const auto* same = dynamic_cast<const ComposedTokenizer*>(ids.get())) return *same;
    return *lazy.get([this] {
      const core::LogSink no_log = [](core::LogLevel, std::string_view) {};
      return std::make_shared<const ComposedTokenizer>(composed_definition(json, name, no_log), name);
    });
  }

  /// Returns the text that is decoded for an id, or an empty one.
  std::string_view shown(std::int32_t id) const {
    const auto& texts = normalized.get([this] { return composed().normalized_tokens(); });
    const auto found = texts.find(id);
    return found == texts.end() ? ids->piece(id) : found->second;
  }

  bool is_special(std::string_view token) const {
    const auto id = ids->id(token);
    return id && ids->is_special(*id);
  }

  std::string json;
  std::string name;
  std::shared_ptr<const Tokenizer> ids;
  core::Lazy<std::shared_ptr<const ComposedTokenizer>> lazy;
  core::Lazy<std::map<std::int32_t, std::string>> normalized;
};

LibraryTokenizer::LibraryTokenizer(std::string json, std::string name, const core::LogSink& log)
    : impl_(std::make_unique<const Impl>(std::move(json), std::move(name), log)) {}
LibraryTokenizer::~LibraryTokenizer() = default;
LibraryTokenizer::LibraryTokenizer(LibraryTokenizer&&) noexcept = default;
LibraryTokenizer& LibraryTokenizer::operator=(LibraryTokenizer&&) noexcept = default;

const std::shared_ptr<const Tokenizer>& LibraryTokenizer::ids() const noexcept {
  return impl_->ids;
}

std::vector<LibraryTokenizer::Token> LibraryTokenizer::encode(std::string_view text,
                                                              const EncodeOptions& options) const {
  return in_characters(impl_->composed().encode_as_library(text, options), text);
}

std::vector<LibraryTokenizer::Token> LibraryTokenizer::words(std::string_view text,
                                                             const EncodeOptions& options) const {
  return in_characters(impl_->composed().words_as_library(text, options), text);
}

std::string LibraryTokenizer::normalize(std::string_view text) const {
  return impl_->composed().normalize(text);
}

std::string LibraryTokenizer::decode(std::span<const std::int32_t> ids, bool with_special_tokens) const {
  std::vector<std::string> texts;
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= impl_->ids->size()) continue;
    const std::string_view token = impl_->shown(id);
    if (!token.empty() && (with_special_tokens || !impl_->is_special(token))) texts.emplace_back(token);
  }
  return decode(std::move(texts));
}

std::string LibraryTokenizer::decode(std::vector<std::string> tokens) const {
  return impl_->composed().decode_texts(std::move(tokens));
}

}  // namespace dragoman::tokenizer
