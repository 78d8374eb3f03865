#include "arrays.h"
#include "call.h"
#include "parts.h"

#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <dragoman/dragoman.h>
#include <dragoman/tokenizer/library_tokenizer.h>

namespace dragoman::python {
namespace {

using tokenizer::EncodeOptions;
using tokenizer::LibraryTokenizer;
using TextTokens = std::vector<LibraryTokenizer::Token>;

LibraryTokenizer parse(nb::handle content, const std::string& name, const nb::object& log) {
  std::string json(text_of(content));
  BlockingCall call;
  return call.run_stoppable([&, on_log = call.log(log)] { return LibraryTokenizer(std::move(json), name, on_log); });
}

/// Returns (ids, offsets in characters, words, the texts of tokens that are not their pieces with their positions).
nb::tuple encode(const LibraryTokenizer& self, nb::handle text, const EncodeOptions& options) {
  const std::string_view bytes = text_of(text);
  const TextTokens tokens = run_on_text(bytes.size(), [&] { return self.encode(bytes, options); });
  std::vector<std::int32_t> ids, words;
  std::vector<std::int64_t> offsets;
  nb::list texts;
  SignalCheck check;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    check();
    ids.push_back(tokens[i].id);
    words.push_back(tokens[i].word);
    offsets.push_back(tokens[i].begin);
    offsets.push_back(tokens[i].end);
    if (!tokens[i].text.empty()) texts.append(nb::make_tuple(i, to_str(tokens[i].text)));
  }
  return nb::make_tuple(to_array(std::move(ids)), to_array(std::move(offsets), {tokens.size(), 2}),
                        to_array(std::move(words)), texts);
}

/// Returns (text, (begin, end)) for each word, in characters.
nb::list words(const LibraryTokenizer& self, nb::handle text, const EncodeOptions& options) {
  const std::string_view bytes = text_of(text);
  const TextTokens tokens = run_on_text(bytes.size(), [&] { return self.words(bytes, options); });
  nb::list made;
  SignalCheck check;
  for (const LibraryTokenizer::Token& token : tokens) {
    check();
    made.append(nb::make_tuple(to_str(token.text), nb::make_tuple(token.begin, token.end)));
  }
  return made;
}

nb::str decode(const LibraryTokenizer& self, nb::handle ids, bool with_special_tokens) {
  const Ids given(ids);
  return to_str(run_on_text(given.get().size(), [&] { return self.decode(given.get(), with_special_tokens); }));
}

}  // namespace

void add_library_tokenizer(nb::module_& module) {
  nb::class_<LibraryTokenizer>(module, "LibraryTokenizer")
      .def_static("parse", &parse, nb::arg("content"), nb::arg("name"), nb::arg("log").none())
      .def("ids", [](const LibraryTokenizer& self) { return Tokenizer(self.ids()); })
      .def("encode", &encode, nb::arg("text"), nb::arg("options"))
      .def("words", &words, nb::arg("text"), nb::arg("options"))
      .def("normalize",
           [](const LibraryTokenizer& self, nb::handle text) { return to_str(self.normalize(text_of(text))); })
      .def("decode", &decode, nb::arg("ids"), nb::arg("with_special_tokens"))
      .def("decode_texts", [](const LibraryTokenizer& self, std::vector<std::string> tokens) {
        return to_str(self.decode(std::move(tokens)));
      });
}

}  // namespace dragoman::python
