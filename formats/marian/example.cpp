#include "marian/example.h"

#include "marian/export.h"
#include "tokens/example_model.h"

namespace dragoman::imports {

std::filesystem::path write_marian_example(const std::filesystem::path& folder) {
  write_marian(ExampleModel().exported(), folder);
  return folder;
}

}  // namespace dragoman::imports
