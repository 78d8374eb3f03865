#include "call.h"
#include "parts.h"

#include <filesystem>
#include <map>
#include <string>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/dragoman.h>

namespace dragoman::python {
namespace {

/// A function from lists of sources, hypotheses and references to a number.
MetricFunction to_metric(const nb::object& function) {
  return [shared = SharedObject(function)](const ValidationTexts& texts) {
    const CallbackScope scope;
    return nb::cast<double>(
        nb::float_(shared.get()(to_list(texts.sources), to_list(texts.hypotheses), to_list(texts.references))));
  };
}

}  // namespace

void add_training(nb::module_& module) {
  nb::class_<TrainConfig>(module, "TrainConfig")
      .def_static("read", &TrainConfig::read, nb::arg("file"))
      .def_static("parse", &TrainConfig::parse, nb::arg("yaml"), nb::arg("name"))
      .def("copy", [](const TrainConfig& self) { return TrainConfig(self); })
      .def("set", [](TrainConfig& self, const std::string& key, const std::string& value) { self.set(key, value); })
      .def("to_json", [](const TrainConfig& self) { return core::parse_yaml(self.to_yaml(), "configuration").dump(); })
      .def("to_yaml", &TrainConfig::to_yaml);
  module.def(
      "train",
      [](const TrainConfig& config, bool resume, const nb::dict& metrics, const nb::object& progress,
         const nb::object& log) {
        const TrainConfig own = config;
        std::map<std::string, MetricFunction> functions;
        for (const auto& [name, function] : metrics)
          functions[nb::cast<std::string>(name)] = to_metric(nb::borrow(function));
        BlockingCall call;
        const TrainResult result = call.run([&, on_progress = call.progress(progress), on_log = call.log(log)] {
          return train(
              own,
              {.resume = resume, .log = on_log, .progress = on_progress, .metrics = functions, .stop = call.stop()});
        });
        return nb::make_tuple(result.model, result.updates, result.epochs, result.stopped_early, result.metric,
                              result.best);
      },
      nb::arg("config"), nb::arg("resume"), nb::arg("metrics"), nb::arg("progress").none(), nb::arg("log").none());
}

}  // namespace dragoman::python
