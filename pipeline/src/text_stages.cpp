#include "text_stages.h"

#include <charconv>

#include <unicode/casemap.h>
#include <unicode/normalizer2.h>

#include <dragoman/core/error.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;

const icu::Normalizer2* normalizer_for(const std::string& form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer =
      form == "nfc" ? icu::Normalizer2::getNFCInstance(status) : icu::Normalizer2::getNFKCInstance(status);
  core::require(U_SUCCESS(status) != 0, ErrorCode::kUnsupported, "ICU has no {} data: {}", form, u_errorName(status));
  return normalizer;
}

class NormalizeStage final : public MapStage {
 public:
  NormalizeStage(const std::string& form, bool lowercase)
      : normalizer_(form == "none" ? nullptr : normalizer_for(form)), lowercase_(lowercase) {}

  void process(Record& record) const override {
    UErrorCode status = U_ZERO_ERROR;
    std::string result;
    icu::StringByteSink<std::string> sink(&result);
    if (normalizer_ != nullptr) {
      normalizer_->normalizeUTF8(0, record.text, sink, nullptr, status);
      record.text = std::exchange(result, {});
    }
    if (lowercase_) {
      icu::CaseMap::utf8ToLower("", 0, record.text, sink, nullptr, status);
      record.text = std::move(result);
    }
    record.sentences.clear();
    if (U_FAILURE(status) != 0)
      record.mark_failed(fmt::format("ICU cannot normalise the text: {}", u_errorName(status)));
  }

 private:
  const icu::Normalizer2* normalizer_;  // ICU's own, lives as long as the process
  bool lowercase_;
};

class EncodeStage final : public MapStage {
 public:
  EncodeStage(const std::string& file, bool ids) : tokenizer_(tokenizer::load_tokenizer(file)), ids_(ids) {}

  void process(Record& record) const override {
    std::string line;
    for (const std::int32_t id : tokenizer_->encode(record.text)) {
      if (!line.empty()) line.push_back(' ');
      line += ids_ ? std::to_string(id) : std::string(tokenizer_->piece(id));
    }
    record.text = std::move(line);
    record.sentences.clear();
  }

 private:
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  bool ids_;
};

class DecodeStage final : public MapStage {
 public:
  explicit DecodeStage(const std::string& file) : tokenizer_(tokenizer::load_tokenizer(file)) {}

  void process(Record& record) const override {
    std::vector<std::int32_t> ids;
    const char* place = record.text.data();
    const char* end = place + record.text.size();
    while (place != end) {
      if (*place == ' ') {
        ++place;
        continue;
      }
      std::int32_t id = 0;
      const auto [after, error] = std::from_chars(place, end, id);
      if (error != std::errc{} || id < 0 || id >= tokenizer_->size())
        return record.mark_failed(fmt::format("byte {}: not an id of the tokenizer", place - record.text.data() + 1));
      ids.push_back(id);
      place = after;
    }
    record.text = tokenizer_->decode(ids);
    record.sentences.clear();
  }

 private:
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

}  // namespace

std::unique_ptr<MapStage> make_normalize_stage(core::OptionReader& options) {
  const std::string form = options.get("form", "nfc");
  options.check(form == "none" || form == "nfc" || form == "nfkc", "form", "must be none, nfc or nfkc");
  return std::make_unique<NormalizeStage>(form, options.get("lowercase", false));
}

std::unique_ptr<MapStage> make_encode_stage(core::OptionReader& options) {
  const std::string format = options.get("format", "pieces");
  options.check(format == "pieces" || format == "ids", "format", "must be pieces or ids");
  return std::make_unique<EncodeStage>(options.require_key<std::string>("tokenizer"), format == "ids");
}

std::unique_ptr<MapStage> make_decode_stage(core::OptionReader& options) {
  return std::make_unique<DecodeStage>(options.require_key<std::string>("tokenizer"));
}

}  // namespace dragoman::pipeline
