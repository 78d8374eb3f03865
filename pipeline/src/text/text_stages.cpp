#include "text_stages.h"

#include <algorithm>
#include <optional>

#include <unicode/casemap.h>
#include <unicode/normalizer2.h>

#include <dragoman/core/error.h>
#include <dragoman/core/numbers.h>
#include <dragoman/core/quote.h>
#include <dragoman/plugins/open_tokenizer.h>
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
  EncodeStage(std::unique_ptr<tokenizer::Tokenizer> tokenizer, bool ids)
      : tokenizer_(std::move(tokenizer)), ids_(ids) {}

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
  DecodeStage(std::unique_ptr<tokenizer::Tokenizer> tokenizer, bool ids)
      : tokenizer_(std::move(tokenizer)), ids_(ids) {}

  void process(Record& record) const override {
    std::vector<std::int32_t> ids;
    const std::string_view text = record.text;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      const std::string_view word = text.substr(begin, end - begin);
      if (!word.empty()) {
        const std::optional<std::int32_t> id = ids_ ? parse_id(word) : tokenizer_->id(word);
        if (!id)
          return record.mark_failed(fmt::format("byte {}: {} is not {} of the tokenizer", begin + 1, core::quote(word),
                                                ids_ ? "an id" : "a piece"));
        ids.push_back(*id);
      }
      begin = end + 1;
    }
    record.text = tokenizer_->decode(ids);
    record.sentences.clear();
  }

 private:
  std::optional<std::int32_t> parse_id(std::string_view word) const {
    const auto id = core::spelled_number<std::int32_t>(word);
    return id && *id >= 0 && *id < tokenizer_->size() ? id : std::nullopt;
  }

  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  bool ids_;
};

}  // namespace

std::unique_ptr<MapStage> make_normalize_stage(const NormalizeSettings& settings) {
  return std::make_unique<NormalizeStage>(settings.form, settings.lowercase);
}

std::unique_ptr<MapStage> make_encode_stage(const EncodeSettings& settings, const plugins::Registry& registry) {
  return std::make_unique<EncodeStage>(plugins::open_tokenizer(registry, settings.tokenizer, settings.spec),
                                       settings.ids);
}

std::unique_ptr<MapStage> make_decode_stage(const DecodeSettings& settings, const plugins::Registry& registry) {
  return std::make_unique<DecodeStage>(plugins::open_tokenizer(registry, settings.tokenizer, settings.spec),
                                       settings.ids);
}

}  // namespace dragoman::pipeline
