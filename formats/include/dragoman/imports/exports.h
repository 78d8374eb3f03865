#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/formats/model_config.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::imports {

/// The model that an export writes.
struct ExportedModel {
  std::filesystem::path path;  ///< for messages
  const formats::ModelConfig* config = nullptr;
  formats::ModelTokenizers tokenizers{};    ///< empty: none is written
  const nn::Seq2SeqModel* model = nullptr;  ///< with values in F32 in host memory
  const tokenizer::Tokenizer* source_tokenizer = nullptr;
  const tokenizer::Tokenizer* target_tokenizer = nullptr;
  core::LogSink log{};  ///< of warnings about what the other toolkit makes of the model
};

/// A format of another toolkit.
struct ExportFormat {
  std::string_view name;
  std::string_view summary;
  /// Writes the model into the empty folder `output`. Throws Error{kUnsupported} with the reason if the format cannot
  /// express the model.
  void (*write)(const ExportedModel& model, const std::filesystem::path& output);
};

/// Returns all formats, in the order of lists for users. plugins::export_model() writes a model in one of them.
///
///     for (const ExportFormat& format : export_formats()) std::cout << format.name << ": " << format.summary << '\n';
const std::vector<ExportFormat>& export_formats();
/// Returns nullptr if there is no format of this name.
const ExportFormat* find_export_format(std::string_view name);

}  // namespace dragoman::imports
