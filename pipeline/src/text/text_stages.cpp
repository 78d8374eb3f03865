#include "text_stages.h"

#include <utility>

#include <unicode/casemap.h>
#include <unicode/normalizer2.h>

#include <dragoman/core/error.h>
#include <dragoman/plugins/open_tokenizer.h>
#include <dragoman/tokenizer/line_coder.h>
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
  const icu::Normalizer2* normalizer_;  // owned by ICU, lives as long as the process
  bool lowercase_;
};

/// Changes the text of a record. The record fails if the tokenizer cannot convert it.
class CodingStage : public MapStage {
 public:
  CodingStage(std::unique_ptr<tokenizer::Tokenizer> tokenizer, bool ids)
      : tokenizer_(std::move(tokenizer)),
        coder_(*tokenizer_, ids ? tokenizer::LineFormat::kIds : tokenizer::LineFormat::kPieces) {}

  void process(Record& record) const override {
    try {
      record.text = code(coder_, record.text);
      record.sentences.clear();
    } catch (const core::Error& error) {
      if (error.code() != ErrorCode::kBadInput && error.code() != ErrorCode::kUnsupported) throw;
      record.mark_failed(error.what());
    }
  }

 private:
  virtual std::string code(const tokenizer::LineCoder& coder, const std::string& text) const = 0;

  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  tokenizer::LineCoder coder_;
};

class EncodeStage final : public CodingStage {
 public:
  using CodingStage::CodingStage;

 private:
  std::string code(const tokenizer::LineCoder& coder, const std::string& text) const override {
    return coder.encode(text);
  }
};

class DecodeStage final : public CodingStage {
 public:
  using CodingStage::CodingStage;

 private:
  std::string code(const tokenizer::LineCoder& coder, const std::string& line) const override {
    return coder.decode(line);
  }
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
