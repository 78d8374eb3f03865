#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/formats/model_config.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::imports {

/// A model as an export takes it.
struct ExportedModel {
  std::filesystem::path path;  ///< for messages
  const formats::ModelConfig* config = nullptr;
  formats::ModelTokenizers tokenizers{};    ///< empty: none is written
  const nn::Seq2SeqModel* model = nullptr;  ///< its values are F32 in host memory
  const tokenizer::Tokenizer* source_tokenizer = nullptr;
  const tokenizer::Tokenizer* target_tokenizer = nullptr;
};

/// A form that other toolkits read.
struct ExportFormat {
  std::string_view name;
  std::string_view summary;
  /// `output` is an empty folder. Error{kUnsupported} that says what the form cannot express.
  void (*write)(const ExportedModel& model, const std::filesystem::path& output);
};

const std::vector<ExportFormat>& export_formats();
/// Null: there is none of that name.
const ExportFormat* find_export_format(std::string_view name);

}  // namespace dragoman::imports
