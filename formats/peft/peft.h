#pragma once

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// Folders of PEFT with low-rank adapters, which are merged with the model that they name: a model folder of ours, or
/// whatever one of `bases` opens.
formats::ModelImporter peft_importer(std::vector<formats::ModelImporter> bases);

}  // namespace dragoman::imports
