#pragma once

#include <vector>

#include <dragoman/plugins/model_importer.h>

namespace dragoman::imports {

/// The importers of other toolkits' models that the library has of itself, in the order in which lists show them.
std::vector<plugins::ModelImporterEntry> built_in_importers();

}  // namespace dragoman::imports
