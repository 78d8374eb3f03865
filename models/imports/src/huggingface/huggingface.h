#pragma once

#include <dragoman/plugins/model_importer.h>

namespace dragoman::imports {

/// Folders of transformers with models of the types Marian, BART, mBART and M2M-100.
plugins::ModelImporterEntry huggingface_importer();

}  // namespace dragoman::imports
