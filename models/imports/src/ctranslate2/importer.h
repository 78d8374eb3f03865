#pragma once

#include <dragoman/plugins/model_importer.h>

namespace dragoman::imports {

/// Folders of CTranslate2 with a Transformer of encoder and decoder.
plugins::ModelImporterEntry ctranslate2_importer();

}  // namespace dragoman::imports
