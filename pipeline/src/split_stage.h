#pragma once

#include "sentence_splitter.h"

#include <memory>
#include <string>

#include <tbb/enumerable_thread_specific.h>

#include <dragoman/pipeline_api/stage.h>

namespace dragoman::pipeline {

/// Marks the sentences of a record's text, so that `translate` translates each by itself.
class SplitStage final : public MapStage {
 public:
  explicit SplitStage(const std::string& locale) : splitters_([locale] { return SentenceSplitter(locale); }) {
    splitters_.local();  // a locale that ICU does not know is an error now, not at the first line
  }
  void process(Record& record) const override { record.sentences = splitters_.local().split(record.text); }

 private:
  mutable tbb::enumerable_thread_specific<SentenceSplitter> splitters_;
};

}  // namespace dragoman::pipeline
