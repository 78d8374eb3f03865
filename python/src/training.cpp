#include "call.h"
#include "parts.h"

#include <filesystem>
#include <string>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <dragoman/dragoman.h>

namespace dragoman::python {

void add_training(nb::module_& module) {
  nb::class_<TrainConfig>(module, "TrainConfig")
      .def_static("read", &TrainConfig::read, nb::arg("file"))
      .def_static("parse", &TrainConfig::parse, nb::arg("yaml"), nb::arg("name"))
      .def("copy", [](const TrainConfig& self) { return TrainConfig(self); })
      .def("set", [](TrainConfig& self, const std::string& key, const std::string& value) { self.set(key, value); })
      .def("to_yaml", &TrainConfig::to_yaml);
  module.def(
      "train",
      [](const TrainConfig& config, bool resume, const nb::object& progress, const nb::object& log) {
        const TrainConfig own = config;
        BlockingCall call;
        const TrainResult result = call.run([&, on_progress = call.progress(progress), on_log = call.log(log)] {
          return train(own, {.resume = resume, .log = on_log, .progress = on_progress, .stop = call.stop()});
        });
        return nb::make_tuple(result.model, result.updates, result.epochs, result.stopped_early, result.metric,
                              result.best);
      },
      nb::arg("config"), nb::arg("resume"), nb::arg("progress").none(), nb::arg("log").none());
}

}  // namespace dragoman::python
