#include "call.h"
#include "errors.h"
#include "parts.h"

namespace dragoman::python {

// The interface between the Python sources of the package and the library. Nothing in it is public: see dragoman/*.py.
NB_MODULE(_core, module) {
  module.doc() = "The engine beneath the package dragoman. Not a public interface.";
  module.attr("version") = DRAGOMAN_VERSION;
  // Functions that are registered (stages, processors) live as long as the process.
  nb::set_leak_warnings(false);
  register_errors();
  add_tokenizer(module);
  add_library_tokenizer(module);
  add_learning(module);
  add_sentencepiece(module);
  add_model(module);
  add_services(module);
  add_tokens(module);
  add_training(module);
  add_evaluation(module);
  add_files(module);
  add_extensions(module);
}

}  // namespace dragoman::python
