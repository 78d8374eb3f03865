#pragma once

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// Returns the importer for PEFT folders with low-rank adapters. The adapters are merged with the model that they name:
/// one of Dragoman's model folders, or any model that one of `bases` opens.
formats::ModelImporter peft_importer(std::vector<formats::ModelImporter> bases);

}  // namespace dragoman::imports
