#pragma once

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// Folders of transformers with models of the types Marian, BART, mBART and M2M-100.
formats::ModelImporter huggingface_importer();

}  // namespace dragoman::imports
