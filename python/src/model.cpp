#include "arrays.h"
#include "call.h"
#include "errors.h"
#include "options.h"
#include "parts.h"
#include "search.h"
#include "unfinished.h"
#include "with_threads.h"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <dragoman/core/json.h>
#include <dragoman/decoding/option_table.h>
#include <dragoman/dragoman.h>
#include <dragoman/formats/model_config.h>
#include <dragoman/pipeline/ensemble.h>
#include <dragoman/plugins/host.h>

namespace dragoman::python {

decoding::Search read_search(const std::string& json) {
  return read_options(decoding::search_table(), json);
}

namespace {

using ModelHandle = WithThreads<Model>;
using TranslatorHandle = WithThreads<Translator>;

ModelHandle open_model(const std::filesystem::path& path, int threads, const std::string& device,
                       const std::string& compute, bool allow_non_finite, bool latency,
                       const std::vector<std::filesystem::path>& ensemble) {
  pipeline::ModelOptions options{
      .threads = threads, .device = device, .allow_non_finite = allow_non_finite, .latency = latency};
  if (!compute.empty() && compute != tensor::kStoredCompute) {
    options.compute = tensor::find_compute_choice(compute);
    core::require_option(options.compute.has_value(), "compute", ErrorCode::kInvalidArgument,
                         "`compute` is \"{}\"; it must be {}", compute, tensor::list_compute_choices());
  }
  BlockingCall call;
  return ModelHandle(call.run([&] {
    if (ensemble.empty()) return Model(path, options, call.stop());
    pipeline::EnsembleOptions others;
    for (const auto& each : ensemble) others.models.push_back(each);
    return Model(path, plugins::default_host(), options, others, call.stop());
  }));
}

/// A translation as a tuple, which Python makes a Translation of.
nb::tuple to_tuple(const Translation& translation) {
  nb::list tokens;
  for (const std::string& token : translation.tokens) tokens.append(to_str(token));
  nb::object alignment = nb::none();
  if (!translation.alignment.empty()) {
    const std::size_t rows = translation.alignment.size(), columns = translation.alignment.front().size();
    std::vector<float> values;
    values.reserve(rows * columns);
    for (const auto& row : translation.alignment) values.insert(values.end(), row.begin(), row.end());
    alignment = nb::cast(to_array(std::move(values), {rows, columns}));
  }
  nb::list unmet;
  for (const std::string& constraint : translation.unmet_constraints) unmet.append(to_str(constraint));
  nb::list parts;
  for (const auto& part : translation.parts) {
    nb::list best;
    for (const Translation& each : part) best.append(to_tuple(each));
    parts.append(best);
  }
  return nb::make_tuple(to_str(translation.text), translation.score, translation.log_probability, tokens,
                        to_array(std::vector(translation.token_scores)), alignment, translation.cut,
                        translation.expected_utility, unmet, parts);
}

nb::list to_list(const std::vector<Translation>& translations) {
  nb::list made;
  for (const Translation& each : translations) made.append(to_tuple(each));
  return made;
}

Request to_request(const std::string& source_language, const std::string& target_language,
                   const std::string& target_prefix, const std::vector<std::string>& constraints, bool input_pieces,
                   bool output_pieces, const std::string& markup) {
  return {.source_language = source_language,
          .target_language = target_language,
          .target_prefix = target_prefix,
          .constraints = constraints,
          .input_pieces = input_pieces,
          .output_pieces = output_pieces,
          .markup = markup};
}

/// With so many bytes of unfinished texts, half of what a Translator admits, submit() does not wait.
constexpr std::size_t kSurelyRoom = std::size_t{32} << 20;

/// Stops one submitted text.
struct Cancellation {
  std::stop_source stop;
};

/// Queues a text. `done` is called with the translations or with an exception, from a thread of the model.
Cancellation submit(const TranslatorHandle& self, const std::string& text, const std::string& search,
                    const std::string& source_language, const std::string& target_language,
                    const std::string& target_prefix, const std::vector<std::string>& constraints, bool input_pieces,
                    bool output_pieces, const std::string& markup, const nb::object& done,
                    const nb::object& on_partial) {
  const Translator& translator = self.get();
  const Search options = read_search(search);
  Cancellation cancellation;
  Request request =
      to_request(source_language, target_language, target_prefix, constraints, input_pieces, output_pieces, markup);
  request.stop = cancellation.stop.get_token();
  const SharedObject shared_partial(on_partial);
  if (!on_partial.is_none()) {
    request.on_partial = [shared = shared_partial](std::string_view partial) {
      const CallbackScope scope(/*is_last=*/true);  // it must not throw
      try {
        shared.get()(to_str(partial));
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("on_partial");
      }
    };
  }
  const bool has_room = unfinished().bytes() < kSurelyRoom;
  constexpr std::size_t kOverhead = 1024;
  const std::uint64_t key = unfinished().add(cancellation.stop, text.size() + kOverhead);
  auto finish = [key, shared = SharedObject(done), shared_partial](const std::vector<Translation>& translations,
                                                                   const std::exception_ptr& error) {
    {
      const CallbackScope scope(/*is_last=*/true);
      try {
        if (error) {
          shared.get()(nb::none(), exception_object(error));
        } else {
          shared.get()(to_list(translations), nb::none());
        }
      } catch (nb::python_error& raised) {
        raised.discard_as_unraisable("the callback of a translation");
      }
      // The library drops this function later, perhaps when the interpreter is gone.
      shared.reset();
      shared_partial.reset();
    }
    unfinished().remove(key);
  };
  bool accepted = false;  // and then `finish` removes the key
  try {
    const auto queue = [&] {
      translator.submit(text, options, request, std::move(finish));
      accepted = true;
    };
    if (has_room) {
      const nb::gil_scoped_release released;
      queue();
    } else {
      BlockingCall call;  // it may wait
      const std::stop_callback cancel(call.stop(), [&] { cancellation.stop.request_stop(); });
      call.run(queue);
    }
  } catch (...) {
    if (!accepted) unfinished().remove(key);
    throw;
  }
  return cancellation;
}

/// The texts of a list; an error names the one that is none.
std::vector<std::string> to_texts(const nb::list& list) {
  std::vector<std::string> texts;
  texts.reserve(nb::len(list));
  for (const nb::handle each : list) {
    if (!PyUnicode_Check(each.ptr()))
      throw nb::type_error(fmt::format("text {} must be a str, not {}", texts.size(),
                                       nb::cast<std::string>(each.type().attr("__name__")))
                               .c_str());
    texts.emplace_back(text_of(each));
  }
  return texts;
}

nb::list translate_batch(const TranslatorHandle& self, const nb::list& list, const std::string& search,
                         const std::string& source_language, const std::string& target_language,
                         const std::string& target_prefix, const std::vector<std::string>& constraints,
                         bool input_pieces, bool output_pieces, const std::string& markup) {
  const Translator& translator = self.get();
  const std::vector<std::string> texts = to_texts(list);
  const Search options = read_search(search);
  Request request =
      to_request(source_language, target_language, target_prefix, constraints, input_pieces, output_pieces, markup);
  BlockingCall call;
  request.stop = call.stop();
  const auto translated = call.run([&] { return translator.translate_batch(texts, options, request); });
  nb::list made;
  for (const auto& each : translated) made.append(to_list(each));
  return made;
}

}  // namespace

void add_model(nb::module_& module) {
  nb::class_<ModelHandle>(module, "Model")
      .def(nb::new_(&open_model), nb::arg("path"), nb::arg("threads"), nb::arg("device"), nb::arg("compute"),
           nb::arg("allow_non_finite"), nb::arg("latency"), nb::arg("ensemble"))
      .def_prop_ro("path", [](const ModelHandle& self) { return self.get().path(); })
      .def_prop_ro("device", [](const ModelHandle& self) { return name_of(self.get().device()); })
      .def_prop_ro("compute",
                   [](const ModelHandle& self) { return std::string(tensor::name_of(self.get().compute_type())); })
      .def_prop_ro("threads", [](const ModelHandle& self) { return self.get().options().threads; })
      .def("config", [](const ModelHandle& self) { return formats::to_json(self.get().config()).dump(); })
      .def("source_tokenizer", [](const ModelHandle& self) { return Tokenizer(self.get().source_tokenizer()); })
      .def("target_tokenizer", [](const ModelHandle& self) { return Tokenizer(self.get().target_tokenizer()); });
  nb::class_<Cancellation>(module, "Cancellation").def("request_stop", [](const Cancellation& self) {
    self.stop.request_stop();
  });
  nb::class_<TranslatorHandle>(module, "Translator")
      .def(nb::new_([](const ModelHandle& model, const std::string& search,
                       const std::map<std::string, std::string>& logits_processors) {
             const Search options = read_search(search);
             BlockingCall call;  // the factories of processors may be functions of Python
             return TranslatorHandle(call.run([&] { return Translator(model.get(), options, logits_processors); }));
           }),
           nb::arg("model"), nb::arg("search"), nb::arg("logits_processors"))
      .def("translate_batch", &translate_batch, nb::arg("texts"), nb::arg("search"), nb::arg("source_language"),
           nb::arg("target_language"), nb::arg("target_prefix"), nb::arg("constraints"), nb::arg("input_pieces"),
           nb::arg("output_pieces"), nb::arg("markup"))
      .def("submit", &submit, nb::arg("text"), nb::arg("search"), nb::arg("source_language"),
           nb::arg("target_language"), nb::arg("target_prefix"), nb::arg("constraints"), nb::arg("input_pieces"),
           nb::arg("output_pieces"), nb::arg("markup"), nb::arg("done"), nb::arg("on_partial").none());
  module.def("submit_may_wait", [] { return unfinished().bytes() >= kSurelyRoom; });
  module.def("after_fork", [] {
    note_fork();
    unfinished().forget();
  });
  module.def("at_exit", [] {
    const nb::gil_scoped_release released;
    unfinished().close();
  });
  module.def("is_ending", [] { return unfinished().closed(); });
}

}  // namespace dragoman::python
