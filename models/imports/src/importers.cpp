#include "dragoman/imports/importers.h"

namespace dragoman::imports {

std::vector<plugins::ModelImporterEntry> built_in_importers() {
  return {};
}

}  // namespace dragoman::imports
