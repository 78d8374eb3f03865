#include "arrays.h"
#include "call.h"
#include "parts.h"

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/decoding/logits_processor.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/plugins/host.h>

namespace dragoman::python {
namespace {

using core::Json;

/// The provider of everything that Python registers.
constexpr const char* kProvider = "python";

nb::object to_python(const Json& value) {
  return nb::module_::import_("json").attr("loads")(to_str(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
}
Json to_json(const nb::object& value, const std::string& where) {
  return core::parse_json(nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(value)), where);
}

/// Reads the options that the function takes as keywords. Under no GIL.
nb::dict read_options(core::OptionReader& options, const std::vector<std::string>& names) {
  nb::dict made;
  for (const std::string& name : names)
    if (options.has(name)) made[to_str(name)] = to_python(options.subtree(name));
  return made;
}

/// A stage whose function changes a list of dicts in place.
class PythonStage final : public pipeline::MapStage {
 public:
  PythonStage(SharedObject function, SharedObject options, std::size_t most)
      : function_(std::move(function)), options_(std::move(options)), most_(most) {}

  void process(pipeline::Record& record) const override {
    pipeline::Record* one = &record;
    process_batch({&one, 1});
  }

  void process_batch(std::span<pipeline::Record* const> records) const override {
    const CallbackScope scope;
    nb::list batch;
    for (const pipeline::Record* record : records) {
      nb::dict each;
      each["line"] = record->line;
      each["text"] = to_str(record->text);
      each["fields"] = record->fields.empty() ? nb::object(nb::dict()) : to_python(record->fields);
      batch.append(each);
    }
    function_.get()(batch, **nb::borrow<nb::dict>(options_.get()));
    core::require(nb::len(batch) == records.size(), core::ErrorCode::kInvalidArgument,
                  "a stage in Python got {} records and left {}; it must change them in place", records.size(),
                  nb::len(batch));
    for (std::size_t i = 0; i < records.size(); ++i) {
      const nb::object each = batch[i];
      core::require(PyDict_Check(each.ptr()), core::ErrorCode::kInvalidArgument,
                    "a stage in Python replaced the record of line {} by {}; it must change records in place",
                    records[i]->line, nb::cast<std::string>(nb::repr(each)));
      take(nb::borrow<nb::dict>(each), *records[i]);
    }
  }
  std::size_t batch_size() const override { return most_; }

 private:
  static void take(const nb::dict& from, pipeline::Record& record) {
    const std::string text(text_of(from["text"]));
    if (text != record.text) {
      record.text = text;
      record.sentences.clear();
    }
    const nb::object found = from["fields"];
    core::require(PyDict_Check(found.ptr()), core::ErrorCode::kInvalidArgument,
                  "a stage in Python set the fields of line {} to {}; they must be a dict", record.line,
                  nb::cast<std::string>(nb::repr(found)));
    const nb::dict fields = nb::borrow<nb::dict>(found);
    if (nb::len(fields) > 0 || !record.fields.empty()) record.fields = to_json(fields, "fields of a record");
    if (from.contains("error")) record.mark_failed(std::string(text_of(nb::str(from["error"]))));
  }

  SharedObject function_;
  SharedObject options_;
  std::size_t most_;
};

/// A processor whose function is called once for all hypotheses of a sentence.
class PythonProcessor final : public decoding::LogitsProcessor {
 public:
  PythonProcessor(SharedObject function, SharedObject options)
      : function_(std::move(function)), options_(std::move(options)) {}

  void apply(const decoding::SentenceState& state, const decoding::LiveHypothesis& hypothesis,
             decoding::RowEdits& edits) override {
    const decoding::LiveHypothesis* one = &hypothesis;
    call(state, {&one, 1}, {&edits, 1});
  }
  void apply_all(const decoding::SentenceState& state, std::span<decoding::RowEdits> edits) override {
    std::vector<const decoding::LiveHypothesis*> hypotheses;
    for (std::size_t i = 0; i < edits.size(); ++i) hypotheses.push_back(&state.live[i]);
    call(state, hypotheses, edits);
  }

 private:
  void call(const decoding::SentenceState& state, std::span<const decoding::LiveHypothesis* const> hypotheses,
            std::span<decoding::RowEdits> edits) const {
    const CallbackScope scope;
    nb::list all;
    for (const auto* hypothesis : hypotheses) all.append(nb::cast(hypothesis->tokens));
    const nb::object found =
        function_.get()(nb::cast(state.sentence.source), all, **nb::borrow<nb::dict>(options_.get()));
    if (found.is_none()) return;
    // A tuple: what the function keeps of its result may change meanwhile.
    const nb::object rows = nb::steal(PySequence_Tuple(found.ptr()));
    if (!rows.is_valid()) throw nb::python_error();
    core::require(nb::len(rows) == hypotheses.size(), core::ErrorCode::kInvalidArgument,
                  "a logits processor in Python got {} hypotheses and returned {} dicts of edits", hypotheses.size(),
                  nb::len(rows));
    for (std::size_t i = 0; i < edits.size(); ++i) {
      const nb::object each = rows[i];
      if (!each.is_none()) edit(each, edits[i]);
    }
  }
  static void edit(const nb::object& biases, decoding::RowEdits& edits) {
    core::require(PyDict_Check(biases.ptr()), core::ErrorCode::kInvalidArgument,
                  "a logits processor in Python returned {} for a hypothesis; it must be a dict or None",
                  nb::cast<std::string>(nb::repr(biases)));
    for (const auto& [token, bias] : nb::borrow<nb::dict>(biases)) {
      std::int32_t id = 0;
      float value = 0;
      core::require(nb::try_cast(token, id) && nb::try_cast(bias, value), core::ErrorCode::kInvalidArgument,
                    "a logits processor in Python returned the edit {}: {}; it must be a token id and a number",
                    nb::cast<std::string>(nb::repr(token)), nb::cast<std::string>(nb::repr(bias)));
      if (value == -std::numeric_limits<float>::infinity())
        edits.suppress(id);
      else
        edits.add(id, value);
    }
  }

  SharedObject function_;
  SharedObject options_;
};

void add_to_registry(plugins::Contributions contributions) {
  const nb::gil_scoped_release released;
  plugins::default_host().registry().add(kProvider, std::move(contributions));
}

/// `resolve()` returns the function, the names of its options, and the largest batch: a function may be registered
/// again under its name, and what is created then uses the new one.
void register_stage(const std::string& name, const std::string& summary, const nb::object& resolve) {
  plugins::Contributions contributions;
  contributions.stages.push_back(
      {.name = name, .summary = summary, .make = [shared = SharedObject(resolve)](core::OptionReader& reader) {
         const CallbackScope scope;
         const auto [function, options, most] =
             nb::cast<std::tuple<nb::object, std::vector<std::string>, std::size_t>>(shared.get()());
         return std::make_unique<PythonStage>(SharedObject(function), SharedObject(read_options(reader, options)),
                                              most);
       }});
  add_to_registry(std::move(contributions));
}

void register_logits_processor(const std::string& name, const std::string& summary, const nb::object& resolve) {
  plugins::Contributions contributions;
  contributions.logits_processors.push_back(
      {.name = name,
       .summary = summary,
       .make = [shared = SharedObject(resolve)](const nn::SequenceSpec&, core::OptionReader& reader) {
         const CallbackScope scope;
         const auto [function, options, most] =
             nb::cast<std::tuple<nb::object, std::vector<std::string>, std::size_t>>(shared.get()());
         return std::make_unique<PythonProcessor>(SharedObject(function), SharedObject(read_options(reader, options)));
       }});
  add_to_registry(std::move(contributions));
}

nb::tuple run_pipeline(const std::string& configuration, const std::string& name, int threads, bool fail_on_error,
                       const nb::object& progress, const nb::object& log) {
  BlockingCall call;
  const pipeline::LineCounts counts = call.run([&, on_progress = call.progress(progress), on_log = call.log(log)] {
    pipeline::Pipeline chain =
        pipeline::make_pipeline(core::parse_json(configuration, name), name, plugins::default_host(), threads);
    return chain.run({.threads = threads, .fail_on_error = fail_on_error, .log = on_log, .progress = on_progress},
                     call.stop());
  });
  return nb::make_tuple(counts.lines, counts.failed);
}

}  // namespace

void add_extensions(nb::module_& module) {
  module.def("register_stage", &register_stage, nb::arg("name"), nb::arg("summary"), nb::arg("resolve"));
  module.def("register_logits_processor", &register_logits_processor, nb::arg("name"), nb::arg("summary"),
             nb::arg("resolve"));
  module.def(
      "load_plugin",
      [](const std::string& file_or_name) {
        BlockingCall call;
        call.run([&] { plugins::default_host().loader().load(file_or_name); });
      },
      nb::arg("file_or_name"));
  module.def("run_pipeline", &run_pipeline, nb::arg("configuration"), nb::arg("name"), nb::arg("threads"),
             nb::arg("fail_on_error"), nb::arg("progress").none(), nb::arg("log").none());
}

}  // namespace dragoman::python
