#include "arrays.h"
#include "call.h"
#include "parts.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/dragoman.h>
#include <dragoman/plugins/host.h>
#include <dragoman/plugins/open_tokenizer.h>
#include <dragoman/tokenizer/batch_encoding.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::python {
namespace {

using tokenizer::EncodeOptions;

/// Below this many bytes a batch is encoded by the calling thread: starting others takes longer.
constexpr std::size_t kSmallBatch = 64 * 1024;

/// Runs blocks as another executor does, until a stop is requested. A stop also ends a block.
class StoppableExecutor final : public core::Executor {
 public:
  StoppableExecutor(core::Executor& executor, std::stop_token stop) : executor_(executor), stop_(std::move(stop)) {}
  void for_each(std::int64_t blocks, core::FunctionRef<void(std::int64_t)> body) override {
    executor_.for_each(blocks, [&](std::int64_t block) {
      const core::StopScope scope(stop_);
      core::check_stop("encoding texts");
      body(block);
    });
  }
  int threads() const noexcept override { return executor_.threads(); }

 private:
  core::Executor& executor_;
  std::stop_token stop_;
};

EncodeOptions encode_options(const std::string& mode, double dropout, double alpha, std::int32_t n_best,
                             std::uint64_t seed, std::uint64_t line, bool match_special_tokens) {
  core::require_option(dropout >= 0 && dropout <= 1, "dropout", ErrorCode::kInvalidArgument,
                       "`dropout` is {}; it must be from 0 to 1", dropout);
  core::require_option(alpha >= 0, "alpha", ErrorCode::kInvalidArgument, "`alpha` is {}; it must be at least 0", alpha);
  EncodeOptions options{.dropout = dropout,
                        .alpha = alpha,
                        .n_best = n_best,
                        .seed = seed,
                        .line = line,
                        .match_special_tokens = match_special_tokens};
  if (mode == "greedy") {
    options.mode = tokenizer::EncodingMode::kGreedy;
  } else if (mode == "dropout") {
    options.mode = tokenizer::EncodingMode::kDropout;
  } else if (mode == "sample") {
    options.mode = tokenizer::EncodingMode::kSample;
  } else {
    core::require_option(mode == "exact", "mode", ErrorCode::kInvalidArgument,
                         "`mode` is \"{}\"; it must be exact, greedy, dropout or sample", mode);
  }
  return options;
}

Tokenizer open(const std::filesystem::path& file, const std::string& type, const std::string& options) {
  BlockingCall call;
  return call.run_stoppable([&]() -> Tokenizer {
    tokenizer::TokenizerSpec spec{.type = type};
    if (!options.empty()) spec.options = core::parse_json(options, "options");
    return {plugins::open_tokenizer(plugins::default_host().registry(), file, spec)};
  });
}

Tokenizer from_content(nb::handle content, const std::string& name, const std::string& type,
                       const std::string& options) {
  const std::string_view bytes = text_of(content);
  return run_on_text(bytes.size(), [&]() -> Tokenizer {
    tokenizer::TokenizerSpec spec{.type = type};
    if (type.empty()) spec.type = tokenizer::name_of(tokenizer::recognise(name, bytes));
    if (!options.empty()) spec.options = core::parse_json(options, "options");
    return {plugins::make_tokenizer(plugins::default_host().registry(), spec, {name, std::string(bytes)})};
  });
}

/// The texts of a Python sequence. They stay alive and unchanged while this object exists. One thread reads them, under
/// the GIL, while others may wait for the first of them: CPython makes the UTF-8 of each text when it is asked for.
class Texts {
 public:
  explicit Texts(nb::handle sequence) : tuple_(nb::steal(PySequence_Tuple(sequence.ptr()))) {
    if (!tuple_.is_valid()) throw nb::python_error();
    views_.resize(static_cast<std::size_t>(PyTuple_Size(tuple_.ptr())));
  }
  std::size_t size() const { return views_.size(); }

  /// Reads the texts that were not read yet, until they have more than `bytes` bytes. Returns whether all of them have
  /// at most as many.
  bool read(std::size_t bytes = std::numeric_limits<std::size_t>::max()) {
    constexpr std::size_t kStride = 256;
    SignalCheck check;
    std::size_t read = read_;
    std::size_t sum = 0;
    for (; read < size() && sum <= bytes; ++read) {
      check();
      views_[read] = text_of(PyTuple_GetItem(tuple_.ptr(), static_cast<Py_ssize_t>(read)));
      sum += views_[read].size();
      if (read % kStride == 0) tell(read);
    }
    tell(read);
    return read == size() && sum <= bytes;
  }

  /// Waits for the texts. Error{kInterrupted} if the stop is requested.
  std::span<const std::string_view> wait(std::size_t begin, std::size_t end, const std::stop_token& stop) const {
    if (read_.load(std::memory_order_acquire) < end) {
      std::unique_lock lock(mutex_);
      if (!more_.wait(lock, stop, [&] { return read_ >= end; }))
        throw core::Error(ErrorCode::kInterrupted, "encoding texts was stopped before its end");
    }
    return std::span(views_).subspan(begin, end - begin);
  }

 private:
  void tell(std::size_t read) {
    {
      const std::lock_guard lock(mutex_);
      read_.store(read, std::memory_order_release);
    }
    more_.notify_all();
  }

  nb::object tuple_;
  std::vector<std::string_view> views_;
  std::atomic<std::size_t> read_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any more_;
};

nb::tuple encode_batch(const Tokenizer& self, nb::handle sequence, int threads, const EncodeOptions& options) {
  Texts texts(sequence);
  BlockingCall call;
  const auto encode = [&](core::Executor& executor) {
    const auto range = [&](std::size_t begin, std::size_t end) { return texts.wait(begin, end, call.stop()); };
    return tokenizer::encode_batch(*self.shared(), texts.size(), range, executor, options);
  };
  tokenizer::EncodedTexts encoded;
  if (texts.read(kSmallBatch)) {
    const nb::gil_scoped_release released;
    core::SequentialExecutor executor;
    encoded = encode(executor);
  } else {
    encoded = call.run_beside([&] { texts.read(); },
                              [&] {
                                const auto pool = core::make_executor(threads);
                                StoppableExecutor executor(*pool, call.stop());
                                return encode(executor);
                              });
  }
  // The offsets are bytes of an array that nothing else needs: they become signed, as numpy's indices are.
  std::vector<std::int64_t> offsets(encoded.offsets.begin(), encoded.offsets.end());
  return nb::make_tuple(to_array(std::move(encoded.ids)), to_array(std::move(offsets)));
}

nb::ndarray<nb::numpy, std::int32_t> encode(const Tokenizer& self, nb::handle text, const EncodeOptions& options) {
  const std::string_view bytes = text_of(text);
  return to_array(run_on_text(bytes.size(), [&] { return self.shared()->encode(bytes, options); }));
}

/// Converts ranges in bytes, which follow one another, to ranges in characters. A token that represents a part of a
/// character has the range of the whole character.
class CharacterRanges {
 public:
  explicit CharacterRanges(std::string_view text) : text_(text) {}

  std::pair<std::int64_t, std::int64_t> operator()(std::size_t begin, std::size_t end) {
    const std::int64_t before = begun_before(begin);
    const bool is_inside = begin < text_.size() && !begins(begin);
    const std::int64_t first = is_inside ? before - 1 : before;
    return {first, std::max(begun_before(end), first)};
  }

 private:
  bool begins(std::size_t at) const { return (static_cast<unsigned char>(text_[at]) & 0xC0) != 0x80; }
  /// The number of characters that begin before a byte.
  std::int64_t begun_before(std::size_t byte) {
    for (; at_ < byte; ++at_) begun_ += begins(at_) ? 1 : 0;
    return begun_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t begun_ = 0;
};

/// The ids and the ranges of the text that they represent, in bytes of UTF-8 or in characters.
nb::tuple encode_pieces(const Tokenizer& self, nb::handle text, const EncodeOptions& options, bool in_characters) {
  const std::string_view bytes = text_of(text);
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> ranges;
  run_on_text(bytes.size(), [&] {
    CharacterRanges characters(bytes);
    core::StopCheck check("encoding a text");
    for (const tokenizer::Piece& piece : self.shared()->encode_pieces(bytes, options)) {
      check(10);
      ids.push_back(piece.id);
      auto range = std::pair(static_cast<std::int64_t>(piece.begin), static_cast<std::int64_t>(piece.end));
      if (in_characters) range = characters(piece.begin, piece.end);
      ranges.push_back(range.first);
      ranges.push_back(range.second);
    }
  });
  const std::size_t size = ids.size();
  return nb::make_tuple(to_array(std::move(ids)), to_array(std::move(ranges), {size, 2}));
}

nb::list encode_as_text(const Tokenizer& self, nb::handle text, const EncodeOptions& options) {
  const std::string_view bytes = text_of(text);
  return to_list(run_on_text(bytes.size(), [&] { return self.shared()->encode_as_text(bytes, options); }));
}

nb::list encode_n_best(const Tokenizer& self, nb::handle text, std::int32_t most) {
  const std::string_view bytes = text_of(text);
  const std::size_t ways = bytes.size() * static_cast<std::size_t>(std::max(most, 1));
  auto best = run_on_text(ways, [&] { return self.shared()->encode_n_best(bytes, most); });
  nb::list made;
  for (tokenizer::Segmentation& each : best) made.append(nb::make_tuple(to_array(std::move(each.ids)), each.score));
  return made;
}

std::string decode_to_bytes(const Tokenizer& self, nb::handle ids) {
  const Ids given(ids);
  return run_on_text(given.get().size(), [&] { return self.decode(given.get()); });
}

nb::list decode_batch(const Tokenizer& self, nb::handle ids, nb::handle offsets) {
  const Ids given(ids);
  std::vector<std::string> texts;
  std::vector<std::size_t> ends;
  for (const nb::handle each : nb::iter(offsets)) ends.push_back(nb::cast<std::size_t>(nb::int_(each)));
  run_on_text(given.get().size(), [&] {
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      core::check_stop("decoding ids");
      core::require(ends[i] <= ends[i + 1] && ends[i + 1] <= given.get().size(), ErrorCode::kInvalidArgument,
                    "offset {} is {}; offsets must rise up to the number of ids, {}", i + 1, ends[i + 1],
                    given.get().size());
      texts.push_back(self.decode(given.get().subspan(ends[i], ends[i + 1] - ends[i])));
    }
  });
  return to_list(texts);
}

const tokenizer::Tokenizer& checked(const Tokenizer& self, std::int32_t id) {
  core::require(id >= 0 && id < self.size(), ErrorCode::kInvalidArgument, "there is no token {}; ids are 0 to {}", id,
                self.size() - 1);
  return *self.shared();
}

nb::list pieces(const Tokenizer& self) {
  nb::list made;
  for (std::int32_t id = 0; id < self.size(); ++id) made.append(to_str(self.shared()->piece(id)));
  return made;
}

/// Writes the file of a kind; "" stands for the kind that the name implies, or that Tokenizer::save() chooses.
void save(const Tokenizer& self, const std::filesystem::path& file, const std::string& kind) {
  BlockingCall call;
  call.run_stoppable([&] {
    const bool named = file.extension() == ".model" || file.extension() == ".json";
    if (kind.empty() && !named) return self.save(file);
    const auto known = kind.empty() ? tokenizer::file_kind_of_name(file) : tokenizer::file_kind(kind);
    core::require_option(known.has_value(), "kind", ErrorCode::kInvalidArgument,
                         "`kind` is \"{}\"; it must be one of {}", kind, fmt::join(tokenizer::file_kind_names(), ", "));
    if (const auto* bpe = dynamic_cast<const tokenizer::BpeTokenizer*>(self.shared().get()))
      return tokenizer::write_tokenizer_file(bpe->definition(), *known, file);
    const auto* unigram = dynamic_cast<const tokenizer::UnigramTokenizer*>(self.shared().get());
    core::require(unigram != nullptr, ErrorCode::kUnsupported,
                  "{}: only BPE and unigram tokenizers can be saved; copy the file that this one was opened from",
                  file.string());
    tokenizer::write_tokenizer_file(unigram->definition(), *known, file);
  });
}

/// The score and the type of each piece of a unigram model, as SentencePiece's interface offers them; None for others.
nb::object unigram_pieces(const Tokenizer& self) {
  const auto* unigram = dynamic_cast<const tokenizer::UnigramTokenizer*>(self.shared().get());
  if (unigram == nullptr) return nb::none();
  nb::list made;
  for (const tokenizer::UnigramPiece& piece : unigram->definition().pieces)
    made.append(nb::make_tuple(to_str(piece.text), piece.score, static_cast<int>(piece.type)));
  return made;
}

/// The content of a file that opens as this tokenizer, for copies in other processes.
nb::bytes to_bytes(const Tokenizer& self) {
  std::string content;
  {
    const nb::gil_scoped_release released;
    if (const auto* bpe = dynamic_cast<const tokenizer::BpeTokenizer*>(self.shared().get())) {
      content = bpe->to_json();
    } else {
      const auto* unigram = dynamic_cast<const tokenizer::UnigramTokenizer*>(self.shared().get());
      core::require(unigram != nullptr, ErrorCode::kUnsupported,
                    "only BPE and unigram tokenizers have the content of a file; keep the file");
      content = tokenizer::written_unigram(unigram->definition(), tokenizer::FileKind::kSentencePiece);
    }
  }
  return nb::bytes(content.data(), content.size());
}

nb::object surrounding_ids(const Tokenizer& self) {
  const auto ids = tokenizer::ids_of_post_processor(*self.shared());
  if (!ids) return nb::none();
  return nb::make_tuple(to_array(std::vector(ids->in_front)), to_array(std::vector(ids->behind)));
}

}  // namespace

void add_tokenizer(nb::module_& module) {
  nb::class_<EncodeOptions>(module, "EncodeOptions")
      .def(nb::new_([](const std::string& mode, double dropout, double alpha, std::int32_t n_best, std::uint64_t seed,
                       std::uint64_t line, bool match_special_tokens) {
             return encode_options(mode, dropout, alpha, n_best, seed, line, match_special_tokens);
           }),
           nb::arg("mode"), nb::arg("dropout"), nb::arg("alpha"), nb::arg("n_best"), nb::arg("seed"), nb::arg("line"),
           nb::arg("match_special_tokens"));
  nb::class_<Tokenizer>(module, "Tokenizer")
      .def_static("open", &open, nb::arg("file"), nb::arg("type"), nb::arg("options"))
      .def_static("from_content", &from_content, nb::arg("content"), nb::arg("name"), nb::arg("type"),
                  nb::arg("options"))
      .def("size", &Tokenizer::size)
      .def("encode", &encode, nb::arg("text"), nb::arg("options"))
      .def("encode_batch", &encode_batch, nb::arg("texts"), nb::arg("threads"), nb::arg("options"))
      .def("encode_pieces", &encode_pieces, nb::arg("text"), nb::arg("options"), nb::arg("in_characters") = false)
      .def("encode_as_text", &encode_as_text, nb::arg("text"), nb::arg("options"))
      .def("encode_n_best", &encode_n_best, nb::arg("text"), nb::arg("most"))
      .def("decode", [](const Tokenizer& self, nb::handle ids) { return to_str(decode_to_bytes(self, ids)); })
      .def("decode_to_bytes",
           [](const Tokenizer& self, nb::handle ids) {
             const std::string text = decode_to_bytes(self, ids);
             return nb::bytes(text.data(), text.size());
           })
      .def("decode_batch", &decode_batch, nb::arg("ids"), nb::arg("offsets"))
      .def("piece", [](const Tokenizer& self, std::int32_t id) { return to_str(checked(self, id).piece(id)); })
      .def("pieces", &pieces)
      .def("id", [](const Tokenizer& self, nb::handle token) { return self.id(text_of(token)); })
      .def("is_special", [](const Tokenizer& self, std::int32_t id) { return checked(self, id).is_special(id); })
      .def("save", &save, nb::arg("file"), nb::arg("kind"))
      .def("to_bytes", &to_bytes)
      .def("unigram_pieces", &unigram_pieces)
      .def("surrounding_ids", &surrounding_ids);
}

}  // namespace dragoman::python
