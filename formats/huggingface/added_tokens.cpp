#include "huggingface/added_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;
using core::quote;

/// Returns whether a token of added_tokens.json, which contains only its id, is one that tokenizers of transformers add
/// themselves and that is not text.
bool is_usual_token(const HuggingFaceFolder& folder, const std::string& text, const core::TextSet& additional) {
  if (is_language_code(text) || additional.contains(text)) return true;
  for (const char* usual : {"<s>", "</s>", "<unk>", "<pad>", "<mask>"})
    if (text == usual) return true;
  for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token", "mask_token", "cls_token", "sep_token"}) {
    const auto found = folder.tokenizer.find(key);
    if (found == folder.tokenizer.end()) continue;
    if (*found == Json(text) || (found->is_object() && text_of(*found, "content") == text)) return true;
  }
  return (text.starts_with("__") && text.ends_with("__")) || (text.starts_with(">>") && text.ends_with("<<")) ||
         ((text.starts_with("<extra_id_") || text.starts_with("<unk_") || text.starts_with("<2")) &&
          text.ends_with('>'));
}

std::vector<FolderToken> text_tokens(const HuggingFaceFolder& folder) {
  std::vector<FolderToken> tokens = added_tokens(folder);
  std::erase_if(tokens, [](const FolderToken& token) { return token.special; });
  return tokens;
}

}  // namespace

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<FolderToken> added_tokens(const HuggingFaceFolder& folder) {
  std::vector<FolderToken> tokens;
  const auto added = folder.tokenizer.find("added_tokens_decoder");
  if (added != folder.tokenizer.end() && added->is_object())
    for (const auto& [id, token] : added->items()) {
      const bool number = !id.empty() && id.size() < 9 && id.find_first_not_of("0123456789") == std::string::npos;
      if (!number || !token.is_object() || !token.contains("content") || !token["content"].is_string())
        core::fail(ErrorCode::kBadInput, "{}: added_tokens_decoder: {}: must be an id with a content",
                   folder.file("tokenizer_config.json").string(), quote(id));
      tokens.push_back({token["content"].get<std::string>(), std::stoll(id),
                        !token.contains("special") || token["special"] != Json(false)});
    }
  if (!folder.has("added_tokens.json")) return tokens;
  const Json more = folder.object_of("added_tokens.json");
  const std::vector<std::string> listed = additional_tokens(folder);
  const core::TextSet additional(listed.begin(), listed.end());
  core::TextSet named;
  for (const FolderToken& token : tokens) named.insert(token.text);
  for (const auto& [text, id] : more.items()) {
    if (!id.is_number_integer())
      core::fail(ErrorCode::kBadInput, "{}: {}: must be an id", folder.file("added_tokens.json").string(), quote(text));
    if (named.insert(text).second)
      tokens.push_back({text, id.get<std::int64_t>(), is_usual_token(folder, text, additional)});
  }
  return tokens;
}

bool has_text_tokens(const HuggingFaceFolder& folder) {
  return !text_tokens(folder).empty();
}

void refuse_text_tokens(const HuggingFaceFolder& folder) {
  const std::vector<FolderToken> tokens = text_tokens(folder);
  if (tokens.empty()) return;
  core::fail(
      ErrorCode::kUnsupported,
      "{}: its tokenizer has added tokens that are text ({}{}), which transformers cuts out of a line before its "
      "SentencePiece model sees the rest; that is read from a tokenizer.json only, so save the folder with one "
      "(save_pretrained() of a fast tokenizer)",
      folder.path.string(), quote(tokens.front().text),
      tokens.size() == 1 ? "" : fmt::format(" and {} more", tokens.size() - 1));
}

std::vector<std::string> additional_tokens(const HuggingFaceFolder& folder) {
  std::vector<std::string> tokens;
  Json map = Json::object();
  if (folder.has("special_tokens_map.json")) map = folder.object_of("special_tokens_map.json");
  for (const Json* object : {static_cast<const Json*>(&map), &folder.tokenizer}) {
    const auto list = object->find("additional_special_tokens");
    if (list == object->end() || !list->is_array() || !tokens.empty()) continue;
    for (const Json& token : *list) {
      if (token.is_string()) tokens.push_back(token.get<std::string>());
      if (token.is_object()) tokens.push_back(text_of(token, "content"));
    }
  }
  return tokens;
}

bool is_language_code(std::string_view text) {
  const auto within = [](std::string_view part, char first, char last) {
    return !part.empty() && std::ranges::all_of(part, [=](char c) { return c >= first && c <= last; });
  };
  const std::size_t bar = text.find('_');
  if (bar == std::string_view::npos || (bar != 2 && bar != 3)) return false;
  const std::string_view script = text.substr(bar + 1);
  return within(text.substr(0, bar), 'a', 'z') &&
         (within(script, 'A', 'Z') || (script.size() == 4 && within(script.substr(1), 'a', 'z')));
}

}  // namespace dragoman::imports
