#pragma once

#include <dragoman/plugins/model_importer.h>

namespace dragoman::imports {

/// Checkpoints of fairseq with a Transformer for translation, and the dictionaries beside them.
plugins::ModelImporterEntry fairseq_importer();

}  // namespace dragoman::imports
