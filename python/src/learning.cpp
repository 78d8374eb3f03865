#include "call.h"
#include "learning_options.h"
#include "options.h"
#include "parts.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <dragoman/decoding/option_table.h>
#include <dragoman/dragoman.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/learn_codes.h>
#include <dragoman/tokenizer/learning_tables.h>

namespace dragoman::python {
namespace {

using Files = std::vector<std::filesystem::path>;

nb::list describe(const std::vector<core::Option>& options) {
  nb::list made;
  for (const core::Option& option : options) {
    nb::list choices;
    for (const std::string& choice : option.choices) choices.append(to_str(choice));
    made.append(nb::make_tuple(to_str(option.name), to_str(option.placeholder), to_str(option.help),
                               to_str(core::one_line(option.fallback.get())), choices));
  }
  return made;
}

/// The rows of a table: name, placeholder, help, default as JSON, choices.
nb::list option_table(const std::string& function) {
  if (function == "search") return describe(decoding::search_table().options());
  if (function == "learn_bpe") return describe(tokenizer::learn_bpe_table().options());
  if (function == "learn_unigram") return describe(tokenizer::learn_unigram_table().options());
  throw nb::key_error(function.c_str());
}

}  // namespace

LearnUnigramOptions unigram_options(const std::string& json, nb::handle character_map) {
  LearnUnigramOptions options = read_options(tokenizer::learn_unigram_table(), json);
  if (!character_map.is_none()) {
    options.normalization.name = "identity";  // no map is made for a name
    options.normalization.character_map = text_of(character_map);
  }
  return options;
}

void add_learning(nb::module_& module) {
  module.def("option_table", &option_table, nb::arg("function"));
  module.def(
      "learn_bpe",
      [](const Files& files, const std::string& options, const nb::object& progress, const nb::object& log) {
        const LearnBpeOptions read = read_options(tokenizer::learn_bpe_table(), options);
        BlockingCall call;
        return call.run([&, on_progress = call.progress(progress), on_log = call.log(log)] {
          return dragoman::learn_bpe(files, read, on_progress, on_log, call.stop());
        });
      },
      nb::arg("files"), nb::arg("options"), nb::arg("progress").none(), nb::arg("log").none());
  module.def(
      "learn_bpe_from_counts",
      [](const Files& counts, const std::string& options, const nb::object& progress, const nb::object& log) {
        const LearnBpeOptions read = read_options(tokenizer::learn_bpe_table(), options);
        BlockingCall call;
        return call.run([&, on_progress = call.progress(progress), on_log = call.log(log)] {
          return Tokenizer(std::make_shared<const tokenizer::BpeTokenizer>(
              tokenizer::learn_bpe_from_counts(counts, read, on_progress, on_log, call.stop())));
        });
      },
      nb::arg("counts"), nb::arg("options"), nb::arg("progress").none(), nb::arg("log").none());
  module.def(
      "learn_unigram",
      [](const Files& files, const std::string& options, nb::handle character_map, const nb::object& progress,
         const nb::object& log) {
        const LearnUnigramOptions read = unigram_options(options, character_map);
        BlockingCall call;
        return call.run([&, on_progress = call.progress(progress), on_log = call.log(log)] {
          return learn_unigram(files, read, on_progress, on_log, call.stop());
        });
      },
      nb::arg("files"), nb::arg("options"), nb::arg("character_map").none(), nb::arg("progress").none(),
      nb::arg("log").none());
  module.def(
      "learn_codes",
      [](const nb::dict& counts, std::size_t merges, std::int64_t min_frequency, const nb::object& progress) {
        std::vector<tokenizer::CodesWord> words;
        for (const auto& [word, count] : counts) words.push_back({text_of(word), nb::cast<std::uint64_t>(count)});
        BlockingCall call;
        return call.run([&, on_progress = call.progress(progress)] {
          return tokenizer::learn_codes(words, {.merges = merges, .min_frequency = min_frequency}, on_progress,
                                        call.stop());
        });
      },
      nb::arg("counts"), nb::arg("merges"), nb::arg("min_frequency"), nb::arg("progress").none());
}

}  // namespace dragoman::python
