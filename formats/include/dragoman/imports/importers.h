#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dragoman/core/options.h>
#include <dragoman/formats/model_importer.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>

namespace dragoman::imports {

/// Returns the library's importers for models of other toolkits, in the order of lists for users.
///
///     for (const formats::ModelImporter& importer : built_in_importers())
///       std::cout << importer.name << ": " << importer.summary << '\n';
std::vector<formats::ModelImporter> built_in_importers();

/// A kind of tokenizer that imported models need and the tokenizer library lacks.
struct TokenizerEntry {
  std::string name;
  std::string summary;
  std::unique_ptr<tokenizer::Tokenizer> (*make)(const tokenizer::TokenizerFile& file, core::OptionReader& own);
  tokenizer::TokenizerExample example;
};
/// Returns the library's kinds of tokenizers for imported models.
std::vector<TokenizerEntry> built_in_tokenizers();

}  // namespace dragoman::imports
