#include "tokenizer_json_document.h"

#include <optional>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;
using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 64;

/// Builds the tree from the parser's events, except inside the two long parts.
class DocumentBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit DocumentBuilder(const std::string& name) : name_(name) {}
  TokenizerDocument take() { return std::move(document_); }

  bool null() override { return value(nullptr); }
  bool boolean(bool flag) override { return value(flag); }
  bool number_integer(number_integer_t number) override { return value(number); }
  bool number_float(number_float_t number, const string_t& /*text*/) override { return value(number); }
  bool binary(binary_t& bytes) override { return value(bytes); }

  bool number_unsigned(number_unsigned_t number) override {
    if (part_ != Part::kVocabulary) return value(number);
    if (number > 0x7FFFFFFF) fail_for_id();
    document_.vocabulary.emplace_back(piece_, static_cast<std::int32_t>(number));
    return true;
  }

  bool string(string_t& text) override {
    if (part_ != Part::kMerges) return value(std::move(text));
    if (in_pair_)
      add_to_pair(text);
    else
      add_spaced_pair(text);
    return true;
  }

  bool key(string_t& key) override {
    if (part_ == Part::kVocabulary) {
      piece_ = add_text(key);
    } else {
      slot_ = &(*open_.back())[key];
      *slot_ = nullptr;  // of equal keys the last one counts
      if (open_.size() <= 2) path_[open_.size() - 1] = key;
    }
    return true;
  }

  bool start_object(std::size_t /*size*/) override {
    if (part_ == Part::kNone && at("vocab")) {
      document_.vocabulary.clear();
      return begin_part(Part::kVocabulary, Json::object());
    }
    return open(Json::object());
  }
  bool end_object() override { return close(); }

  bool start_array(std::size_t /*size*/) override {
    if (part_ == Part::kNone && at("merges")) {
      document_.merges.clear();
      return begin_part(Part::kMerges, Json::array());
    }
    if (part_ == Part::kMerges && !in_pair_) {
      in_pair_ = true;
      pair_.clear();
      return true;
    }
    return open(Json::array());
  }
  bool end_array() override {
    if (!in_pair_) return close();
    if (pair_.size() != 2) fail_for_merge("expected two pieces");
    document_.merges.emplace_back(pair_[0], pair_[1]);
    in_pair_ = false;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const Json::exception& error) override {
    core::fail(ErrorCode::kBadInput, "{}: not valid JSON at byte {}: {}", name_, position, error.what());
  }

 private:
  enum class Part { kNone, kVocabulary, kMerges };

  /// Whether the value to come is model.`key`.
  bool at(std::string_view key) const {
    return open_.size() == 2 && open_.back()->is_object() && path_[0] == "model" && path_[1] == key;
  }
  bool begin_part(Part part, Json empty) {
    part_ = part;
    return open(std::move(empty), true);
  }

  template <class Value>
  bool value(Value&& value) {
    if (part_ == Part::kVocabulary) fail_for_id();
    if (part_ == Part::kMerges) fail_for_merge("expected two pieces");
    place(Json(std::forward<Value>(value)));
    return true;
  }
  bool open(Json&& empty, bool begins_part = false) {
    if (!begins_part && part_ == Part::kVocabulary) fail_for_id();
    if (!begins_part && part_ == Part::kMerges) fail_for_merge("expected two pieces");
    require(open_.size() < kMaxDepth, ErrorCode::kBadInput, "{}: nested deeper than {} levels", name_, kMaxDepth);
    open_.push_back(place(std::move(empty)));
    return true;
  }
  /// The two parts hold no objects, and lists only in place of pairs, so what ends is the part itself.
  bool close() {
    part_ = Part::kNone;
    open_.pop_back();
    return true;
  }
  Json* place(Json&& value) {
    if (open_.empty()) return &(document_.rest = std::move(value));
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    return &(*slot_ = std::move(value));
  }

  TokenizerDocument::Text add_text(std::string_view text) {
    const std::size_t begin = document_.texts.size();
    document_.texts += text;
    return {begin, static_cast<std::uint32_t>(text.size())};
  }
  void add_to_pair(std::string_view text) {
    if (pair_.size() == 2) fail_for_merge("expected two pieces");
    pair_.push_back(add_text(text));
  }
  void add_spaced_pair(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
      fail_for_merge("expected two pieces with one space between them");
    const TokenizerDocument::Text left = add_text(text.substr(0, space));
    document_.merges.emplace_back(left, add_text(text.substr(space + 1)));
  }

  [[noreturn]] void fail_for_id() const {
    core::fail(ErrorCode::kBadInput, "{}.model.vocab['{}']: expected a whole number from 0 to 2147483647", name_,
               document_.view(piece_));
  }
  [[noreturn]] void fail_for_merge(std::string_view what) const {
    core::fail(ErrorCode::kBadInput, "{}.model.merges[{}]: {}", name_, document_.merges.size(), what);
  }

  const std::string& name_;
  TokenizerDocument document_;
  std::vector<Json*> open_;  // the objects and lists around the place of the next value
  Json* slot_ = nullptr;     // in an object: of its latest key
  std::string path_[2];      // the latest key at the top, and below it
  Part part_ = Part::kNone;
  TokenizerDocument::Text piece_{0, 0};
  std::vector<TokenizerDocument::Text> pair_;
  bool in_pair_ = false;
};

}  // namespace

TokenizerDocument parse_tokenizer_document(std::string_view json, const std::string& name) {
  // A text in the file is never shorter than what it stands for, so sizes fit.
  require(json.size() <= 0xFFFFFFFF, ErrorCode::kBadInput, "{}: larger than 4 GiB", name);
  DocumentBuilder builder(name);
  Json::sax_parse(json, &builder);
  return builder.take();
}

}  // namespace dragoman::tokenizer
