#pragma once

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// Returns the importer for transformers folders with models of the types Marian, BART, mBART and M2M-100.
formats::ModelImporter huggingface_importer();

}  // namespace dragoman::imports
