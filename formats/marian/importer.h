#pragma once

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// Returns the importer for Marian models: .npz, .bin, or a folder or configuration of marian-decoder that names one.
formats::ModelImporter marian_importer();

}  // namespace dragoman::imports
