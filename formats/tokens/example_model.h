#pragma once

#include "dragoman/imports/exports.h"

#include <functional>
#include <memory>

namespace dragoman::imports {

/// A Transformer of width 8 with ten pieces, for the examples of importers.
class ExampleModel {
 public:
  ExampleModel();
  ExampleModel(const ExampleModel&) = delete;
  ExampleModel& operator=(const ExampleModel&) = delete;
  ~ExampleModel();
  /// Returns the model without tokenizer files.
  ExportedModel exported() const;

 private:
  formats::ModelConfig config_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
};

}  // namespace dragoman::imports
