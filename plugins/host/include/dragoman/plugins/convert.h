#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/core/log.h>
#include <dragoman/plugins/host.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::plugins {

struct ConvertOptions {
  /// The kind of the input: the name of a FileKind or of a model importer. Empty: recognised by content.
  std::string from{};
  /// The kind of the output: for a tokenizer, the name of a FileKind; empty: the name of the output decides. For a
  /// model, a format of imports::export_formats(); empty: a model folder.
  std::string to{};
  /// Options of the model importer, which validates them.
  core::Json import_options = core::Json::object();
  /// For tokenizer files: the properties that the file does not contain. `kind` and `log` have no effect.
  tokenizer::ReadOptions reading{};
  /// Checked before each parameter of a model is read. If requested, throws Error{kInterrupted} and writes no folder.
  std::stop_token stop{};
  /// Receives what was written, and warnings about differences between input and output.
  core::LogSink log{};
};

/// Converts a tokenizer file to another format, imports a model of another toolkit to a model folder, or exports a
/// model. The output appears when it is complete.
///
///     convert("opus-mt-de-en", "models/de-en", default_host());     // host.h
///     convert("source.spm", "tokenizer.json", default_host());
///
/// Throws Error{kInvalidArgument} for an unknown kind, for options without effect on this input, and if the output
/// would replace an input. Error{kUnsupported}, which names the parts, if the output cannot express the input. The
/// errors of read_any_tokenizer_file(), import_model() and export_model() pass.
void convert(const std::filesystem::path& input, const std::filesystem::path& output, Host& host,
             const ConvertOptions& options = {});

/// Returns the names of the formats to which models are exported, for messages: "ctranslate2, marian-npz or
/// huggingface".
std::string list_export_formats();

}  // namespace dragoman::plugins
