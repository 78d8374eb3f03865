#include "call.h"
#include "parts.h"

#include <filesystem>
#include <string>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include <dragoman/core/option_error.h>
#include <dragoman/dragoman.h>

namespace dragoman::python {

void add_files(nb::module_& module) {
  module.def(
      "convert",
      [](const std::filesystem::path& input, const std::filesystem::path& output, const std::string& from,
         const std::string& to, const std::string& import_options, const nb::object& log) {
        BlockingCall call;
        call.run([&, on_log = call.log(log)] {
          convert(input, output,
                  {.from = from, .to = to, .import_options = import_options, .log = on_log, .stop = call.stop()});
        });
      },
      nb::arg("input"), nb::arg("output"), nb::arg("from_"), nb::arg("to"), nb::arg("import_options"),
      nb::arg("log").none());
  module.def(
      "quantize",
      [](const std::filesystem::path& model, const std::filesystem::path& output, const std::string& type) {
        const auto choice = tensor::find_compute_choice(type);
        core::require_option(choice == ComputeChoice::kI8 || choice == ComputeChoice::kBF16, "type",
                             ErrorCode::kInvalidArgument, "`type` is \"{}\"; it must be int8 or bf16", type);
        BlockingCall call;
        call.run([&] { quantize(model, output, *choice, call.stop()); });
      },
      nb::arg("model"), nb::arg("output"), nb::arg("type"));
}

}  // namespace dragoman::python
