#pragma once

#include <vector>

#include <dragoman/plugins/model_importer.h>
#include <dragoman/plugins/registrar.h>

namespace dragoman::imports {

/// The importers of other toolkits' models that the library has of itself, in the order in which lists show them.
std::vector<plugins::ModelImporterEntry> built_in_importers();

/// The kinds of tokenizers that imported models need beside those of the tokenizer library.
std::vector<plugins::TokenizerEntry> built_in_tokenizers();

}  // namespace dragoman::imports
