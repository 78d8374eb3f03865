#pragma once

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// Folders of CTranslate2 with a Transformer of encoder and decoder.
formats::ModelImporter ctranslate2_importer();

}  // namespace dragoman::imports
