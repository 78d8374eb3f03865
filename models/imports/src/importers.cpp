#include "dragoman/imports/importers.h"

#include "huggingface/huggingface.h"

namespace dragoman::imports {

std::vector<plugins::ModelImporterEntry> built_in_importers() {
  return {huggingface_importer()};
}

}  // namespace dragoman::imports
