#include "ctranslate2/example.h"

#include "ctranslate2/export.h"
#include "tokens/example_model.h"

namespace dragoman::imports {

std::filesystem::path write_ctranslate2_example(const std::filesystem::path& folder) {
  write_ctranslate2(ExampleModel().exported(), folder);
  return folder;
}

}  // namespace dragoman::imports
