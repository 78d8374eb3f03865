#pragma once

#include <dragoman/plugins/model_importer.h>

namespace dragoman::imports {

/// Models of Marian: .npz, .bin, or a folder or configuration of marian-decoder that names one.
plugins::ModelImporterEntry marian_importer();

}  // namespace dragoman::imports
