#pragma once

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// Returns the importer for CTranslate2 folders with an encoder-decoder Transformer.
formats::ModelImporter ctranslate2_importer();

}  // namespace dragoman::imports
