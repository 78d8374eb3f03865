#pragma once

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// Returns the importer for fairseq's checkpoints of translation Transformers, with the dictionaries in their folder.
formats::ModelImporter fairseq_importer();

}  // namespace dragoman::imports
