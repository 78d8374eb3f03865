#include "tokenizer_json_document.h"

#include <limits>

#include <simdjson.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using Json = nlohmann::json;
using simdjson::dom::element_type;

constexpr std::size_t kMaxDepth = 64;

/// simdjson is ten times as fast as nlohmann-json, but does not report the position of an error.
[[noreturn]] void fail_for_syntax(std::string_view json, const std::string& name, simdjson::error_code error) {
  require(error != simdjson::DEPTH_ERROR, ErrorCode::kBadInput, "{}: nested deeper than {} levels", name, kMaxDepth);
  core::parse_json(json, name, core::EqualKeys::kLastCounts);
  core::fail(ErrorCode::kBadInput, "{}: not valid JSON: {}", name, simdjson::error_message(error));
}

class DocumentReader {
 public:
  explicit DocumentReader(const std::string& name) : name_(name) {}

  TokenizerDocument read(simdjson::dom::element top) {
    if (top.type() != element_type::OBJECT) {
      document_.rest = tree(top, 0);
      return std::move(document_);
    }
    document_.rest = Json::object();
    for (const auto [key, value] : simdjson::dom::object(top)) {
      const bool is_model = key == "model" && value.type() == element_type::OBJECT;
      document_.rest[std::string(key)] =
          is_model ? read_model(value) : tree(value, 1);  // of duplicate keys, the last one counts
    }
    return std::move(document_);
  }

 private:
  Json read_model(const simdjson::dom::object& model) {
    document_.vocabulary.clear();
    document_.merges.clear();
    document_.scored.clear();
    Json rest = Json::object();
    for (const auto [key, value] : model) {
      Json& place = rest[std::string(key)];
      if (key == "vocab" && value.type() == element_type::OBJECT) {
        read_vocabulary(value);
        place = Json::object();
      } else if (key == "vocab" && value.type() == element_type::ARRAY) {
        read_scored(value);
        place = Json::array();
      } else if (key == "merges" && value.type() == element_type::ARRAY) {
        read_merges(value);
        place = Json::array();
      } else {
        place = tree(value, 2);
      }
    }
    return rest;
  }

  void read_vocabulary(const simdjson::dom::object& vocabulary) {
    document_.vocabulary.clear();
    document_.vocabulary.reserve(vocabulary.size());
    core::StopCheck check("opening a tokenizer");
    for (const auto [piece, value] : vocabulary) {
      check(50);
      std::int64_t id = -1;
      if (value.get(id) != simdjson::SUCCESS || id < 0 || id > std::numeric_limits<std::int32_t>::max())
        core::fail(ErrorCode::kBadInput, "{}.model.vocab[{}]: expected a whole number from 0 to 2147483647", name_,
                   Quoted{piece});
      document_.vocabulary.emplace_back(piece, static_cast<std::int32_t>(id));
    }
  }

  void read_scored(const simdjson::dom::array& vocabulary) {
    document_.scored.clear();
    document_.scored.reserve(vocabulary.size());
    core::StopCheck check("opening a tokenizer");
    for (const simdjson::dom::element entry : vocabulary) {
      check(100);
      simdjson::dom::array pair;
      std::string_view piece;
      double score = 0;
      if (entry.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(piece) != simdjson::SUCCESS ||
          pair.at(1).get(score) != simdjson::SUCCESS)
        core::fail(ErrorCode::kBadInput, "{}.model.vocab[{}]: expected a piece and its score", name_,
                   document_.scored.size());
      document_.scored.emplace_back(piece, score);
    }
  }

  void read_merges(const simdjson::dom::array& merges) {
    document_.merges.clear();
    document_.merges.reserve(merges.size());
    core::StopCheck check("opening a tokenizer");
    for (const simdjson::dom::element merge : merges) {
      check(100);
      if (std::string_view text; merge.get(text) == simdjson::SUCCESS)
        add_spaced_pair(text);
      else
        add_pair(merge);
    }
  }

  void add_spaced_pair(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
      fail_for_merge("expected two pieces with one space between them");
    document_.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
  void add_pair(simdjson::dom::element merge) {
    simdjson::dom::array pair;
    std::string_view left;
    std::string_view right;
    if (merge.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(left) != simdjson::SUCCESS ||
        pair.at(1).get(right) != simdjson::SUCCESS)
      fail_for_merge("expected two pieces");
    document_.merges.emplace_back(left, right);
  }
  [[noreturn]] void fail_for_merge(std::string_view what) const {
    core::fail(ErrorCode::kBadInput, "{}.model.merges[{}]: {}", name_, document_.merges.size(), what);
  }

  Json tree(simdjson::dom::element value, std::size_t depth) const {
    require(depth < kMaxDepth, ErrorCode::kBadInput, "{}: nested deeper than {} levels", name_, kMaxDepth);
    switch (value.type()) {
      case element_type::OBJECT: {
        Json object = Json::object();
        for (const auto [key, part] : simdjson::dom::object(value)) object[std::string(key)] = tree(part, depth + 1);
        return object;
      }
      case element_type::ARRAY: {
        Json array = Json::array();
        for (const simdjson::dom::element part : simdjson::dom::array(value)) array.push_back(tree(part, depth + 1));
        return array;
      }
      case element_type::STRING:
        return std::string(std::string_view(value));
      case element_type::INT64:
        return whole_number(std::int64_t(value));
      case element_type::UINT64:
        return std::uint64_t(value);
      case element_type::DOUBLE:
        return double(value);
      case element_type::BOOL:
        return bool(value);
      case element_type::NULL_VALUE:
        return nullptr;
    }
    return nullptr;
  }
  /// Uses the same types as nlohmann-json: unsigned for numbers without a sign.
  static Json whole_number(std::int64_t number) {
    return number < 0 ? Json(number) : Json(static_cast<std::uint64_t>(number));
  }

  const std::string& name_;
  TokenizerDocument document_;
};

}  // namespace

TokenizerDocument parse_tokenizer_document(std::string_view json, const std::string& name) {
  require(json.size() < simdjson::SIMDJSON_MAXSIZE_BYTES, ErrorCode::kBadInput, "{}: larger than 4 GiB", name);
  if (json.starts_with(core::kByteOrderMark)) json.remove_prefix(core::kByteOrderMark.size());
  const auto parser = std::make_shared<simdjson::dom::parser>();
  simdjson::dom::element top;
  if (const auto error = parser->parse(simdjson::padded_string(json)).get(top)) fail_for_syntax(json, name, error);
  TokenizerDocument document = DocumentReader(name).read(top);
  document.texts = parser;
  return document;
}

}  // namespace dragoman::tokenizer
