#pragma once

#include "pipeline/sentence_splitter.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/markup/markup.h>
#include <dragoman/pipeline/translate_service.h>
#include <dragoman/pipeline_api/stage.h>

namespace dragoman::pipeline {

/// Marks the sentences of a record's text, so that `translate` translates each one separately.
class SplitStage final : public MapStage {
 public:
  SplitStage(const std::string& locale, Markup markup) : locale_(locale), markup_(markup) {
    give_back(take());  // an unknown locale is an error now, not at the first line
  }
  void process(Record& record) const override {
    std::unique_ptr<SentenceSplitter> splitter = take();
    const auto split = [&](std::string_view text) { return splitter->split(text); };
    record.sentences =
        markup_ == Markup::kHtml ? markup::Document(record.text).find_sentences(split) : split(record.text);
    give_back(std::move(splitter));
  }

 private:
  /// Takes a splitter that no other thread uses meanwhile.
  std::unique_ptr<SentenceSplitter> take() const {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<SentenceSplitter>(locale_);
    std::unique_ptr<SentenceSplitter> splitter = std::move(free_.back());
    free_.pop_back();
    return splitter;
  }
  void give_back(std::unique_ptr<SentenceSplitter> splitter) const {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(splitter));
  }

  std::string locale_;
  Markup markup_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<SentenceSplitter>> free_;
};

}  // namespace dragoman::pipeline
