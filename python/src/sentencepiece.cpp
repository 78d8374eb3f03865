#include "arrays.h"
#include "call.h"
#include "learning_options.h"
#include "parts.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <dragoman/dragoman.h>
#include <dragoman/tokenizer/character_maps.h>
#include <dragoman/tokenizer/learn_sentencepiece_bpe.h>
#include <dragoman/tokenizer/sentencepiece_ids.h>
#include <dragoman/tokenizer/text_normalizer.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::python {
namespace {

using tokenizer::TextNormalizer;

nb::bytes to_bytes(std::string_view text) {
  return nb::bytes(text.data(), text.size());
}

TextNormalizer make_normalizer(nb::handle character_map, bool dummy_prefix, bool remove_extra_spaces,
                               bool escape_spaces, bool space_as_suffix, nb::handle symbols) {
  std::vector<std::string> texts;
  for (const nb::handle symbol : nb::iter(symbols)) texts.emplace_back(text_of(symbol));
  return TextNormalizer({.character_map = std::string(text_of(character_map)),
                         .dummy_prefix = dummy_prefix,
                         .remove_extra_spaces = remove_extra_spaces,
                         .escape_spaces = escape_spaces,
                         .space_as_suffix = space_as_suffix},
                        texts);
}

/// The normalised text, and the offset in the original text of each of its bytes and of its end.
nb::tuple normalize(const TextNormalizer& self, nb::handle text) {
  const std::string_view bytes = text_of(text);
  const auto normalized = run_on_text(bytes.size(), [&] { return self.normalize(bytes); });
  const std::vector<std::int64_t> origin(normalized.origin.begin(), normalized.origin.end());
  return nb::make_tuple(to_bytes(normalized.text), to_array(origin));
}

/// The pieces of a model by id: text, score, type.
nb::list model_pieces(nb::handle model, const std::string& name) {
  nb::list made;
  for (const tokenizer::UnigramPiece& piece : tokenizer::sentencepiece_pieces(text_of(model), name))
    made.append(nb::make_tuple(to_str(piece.text), piece.score, static_cast<int>(piece.type)));
  return made;
}

/// For each of the best segmentations: ids, texts, spans in bytes of the text, and the score. `timeout_ms` is 0 for
/// none.
nb::list n_best_pieces(const Tokenizer& self, nb::handle text, std::int32_t most, std::int64_t timeout_ms) {
  using tokenizer::UnigramTokenizer;
  const auto* unigram = dynamic_cast<const UnigramTokenizer*>(self.shared().get());
  core::require(unigram != nullptr, ErrorCode::kUnsupported, "only unigram models have several segmentations");
  const std::string_view bytes = text_of(text);
  const std::size_t ways = bytes.size() * static_cast<std::size_t>(std::max(most, 1));
  const auto best = run_on_text(ways, [&] {
    std::optional<UnigramTokenizer::Clock::time_point> deadline;
    if (timeout_ms > 0) deadline = UnigramTokenizer::Clock::now() + std::chrono::milliseconds(timeout_ms);
    return unigram->n_best_pieces(bytes, most, deadline);
  });
  nb::list made;
  for (const tokenizer::TextSegmentation& each : best) {
    nb::list ids;
    nb::list texts;
    nb::list spans;
    SignalCheck check;
    for (const tokenizer::TextPiece& piece : each.pieces) {
      check();
      ids.append(piece.id);
      texts.append(to_str(piece.text));
      spans.append(nb::make_tuple(piece.begin, piece.end));
    }
    made.append(nb::make_tuple(ids, texts, spans, each.score));
  }
  return made;
}

nb::bytes learn(const std::vector<std::filesystem::path>& files, const std::string& options, nb::handle character_map,
                const nb::object& progress, const nb::object& log) {
  const LearnUnigramOptions read = unigram_options(options, character_map);
  BlockingCall call;
  const std::string model = call.run([&, on_progress = call.progress(progress), on_log = call.log(log)] {
    return tokenizer::learn_sentencepiece_bpe(files, read, on_progress, on_log, call.stop());
  });
  return to_bytes(model);
}

}  // namespace

void add_sentencepiece(nb::module_& module) {
  nb::class_<TextNormalizer>(module, "TextNormalizer")
      .def(nb::new_(&make_normalizer), nb::arg("character_map"), nb::arg("dummy_prefix"),
           nb::arg("remove_extra_spaces"), nb::arg("escape_spaces"), nb::arg("space_as_suffix"), nb::arg("symbols"))
      .def("normalize", &normalize, nb::arg("text"));
  module.def("make_character_map", [](const std::string& name) {
    std::string map;
    {
      const nb::gil_scoped_release released;
      map = tokenizer::make_character_map(name);
    }
    return to_bytes(map);
  });
  module.def("make_character_map_of_rules", [](nb::handle rules, const std::string& name) {
    return to_bytes(tokenizer::make_character_map_of_rules(text_of(rules), name));
  });
  module.def("sentencepiece_pieces", &model_pieces, nb::arg("model"), nb::arg("name"));
  module.def("n_best_pieces", &n_best_pieces, nb::arg("tokenizer"), nb::arg("text"), nb::arg("most"),
             nb::arg("timeout_ms"));
  module.def("learn_sentencepiece_bpe", &learn, nb::arg("files"), nb::arg("options"), nb::arg("character_map").none(),
             nb::arg("progress").none(), nb::arg("log").none());
}

}  // namespace dragoman::python
