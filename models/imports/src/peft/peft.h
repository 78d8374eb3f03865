#pragma once

#include <dragoman/plugins/model_importer.h>

namespace dragoman::imports {

/// Folders of PEFT with low-rank adapters, which are merged with the model that they name: a model folder of ours, or
/// whatever one of `bases` opens.
plugins::ModelImporterEntry peft_importer(std::vector<plugins::ModelImporterEntry> bases);

}  // namespace dragoman::imports
