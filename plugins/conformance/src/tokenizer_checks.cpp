#include "checks.h"
#include "extension_checks.h"

#include <algorithm>
#include <exception>
#include <thread>

#include <dragoman/core/error.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::plugins {
namespace {

using core::quote;
using tokenizer::Piece;
using tokenizer::Tokenizer;
using tokenizer::TokenizerFile;
using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> make_of(const TokenizerEntry& entry, std::string content) {
  core::OptionReader own(entry.example.options.get(), "example: options");
  std::unique_ptr<Tokenizer> made = entry.make({"example", std::move(content)}, own);
  own.finish();
  core::require(made != nullptr, core::ErrorCode::kInternal, "the factory made none");
  return made;
}

/// A tokenizer of the example file, and the texts that it encodes.
struct TokenizerBench {
  const TokenizerEntry& entry;
  std::unique_ptr<Tokenizer> tokenizer = make_of(entry, entry.example.content);
  std::vector<std::string> texts = all_texts(entry.example.texts);

  /// Returns the texts of the example and further texts.
  static std::vector<std::string> all_texts(std::vector<std::string> texts) {
    for (const char* text : {"", " ", "  two  blanks ", "a\tb", "\xC3\xBC \xE2\x80\x94 \xF0\x9F\x9A\x80",
                             "half \xE2\x80", "\xFF\xFE", "\xE2\x96\x81 </s> <unk>"})
      texts.emplace_back(text);
    texts.emplace_back("nul\0in it", 9);
    texts.emplace_back(5000, 'a');
    return texts;
  }
};

Finding check_text_round_trip(const TokenizerBench& bench) {
  const std::vector<std::string>& texts = bench.entry.example.texts;
  for (const std::string& text : texts) {
    const std::string again = bench.tokenizer->decode(bench.tokenizer->encode(text));
    if (again != text) return {false, fmt::format("{} comes back as {}", quote(text), quote(again))};
  }
  return {true, fmt::format("{} texts come back as they are", texts.size())};
}

std::string complaint_about_pieces(const Tokenizer& tokenizer, const std::string& text) {
  const Ids ids = tokenizer.encode(text);
  const std::vector<Piece> pieces = tokenizer.encode_pieces(text);
  if (!std::ranges::equal(ids, pieces, {}, {}, &Piece::id)) return "encode() and encode_pieces() give other ids";
  std::size_t last_begin = 0;  // text between pieces, such as whitespace, may be lost
  for (const Piece& piece : pieces) {
    if (piece.id < 0 || piece.id >= tokenizer.size())
      return fmt::format("gives the id {} where there are {} pieces", piece.id, tokenizer.size());
    if (piece.begin < last_begin || piece.end < piece.begin || piece.end > text.size())
      return fmt::format("has a piece of the bytes {} to {}, behind one that begins at {}, of {}", piece.begin,
                         piece.end, last_begin, text.size());
    last_begin = piece.begin;
  }
  return {};
}

/// Every text must encode to valid ids whose pieces refer to valid byte ranges.
Finding check_any_text(const TokenizerBench& bench) {
  for (const std::string& text : bench.texts)
    if (const std::string complaint = complaint_about_pieces(*bench.tokenizer, text); !complaint.empty())
      return {false, fmt::format("{}: {}", quote(text), complaint)};
  return {true, fmt::format("{} texts, ill-formed ones among them: ids are below {}", bench.texts.size(),
                            bench.tokenizer->size())};
}

bool refuses(const Tokenizer& tokenizer, std::int32_t id) {
  try {
    tokenizer.decode(Ids{id});
    return false;
  } catch (const core::Error&) {
    return true;
  }
}

Finding check_pieces(const TokenizerBench& bench) {
  const Tokenizer& tokenizer = *bench.tokenizer;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string piece(tokenizer.piece(id));
    if (tokenizer.id(piece) != id)
      return {false, fmt::format("the piece {} of the id {} has another id, or none", quote(piece), id)};
    if (piece.empty() || piece.find_first_of(" \n") != std::string::npos)
      return {false,
              fmt::format("the piece {} cannot stand in a line of pieces with blanks between them", quote(piece))};
    if (tokenizer.is_special(id) && !tokenizer.decode(Ids{id}).empty())
      return {false, fmt::format("decode() shows the special token {}", quote(piece))};
  }
  for (const std::int32_t id : {-1, tokenizer.size()})
    if (!refuses(tokenizer, id)) return {false, fmt::format("decode() takes {}, which is no id", id)};
  return {true, fmt::format("{} pieces have their ids; others are refused", tokenizer.size())};
}

/// Encoding text by text and decoding id by id must give the same results.
Finding check_streams(const TokenizerBench& bench) {
  const auto encoder = bench.tokenizer->make_encoder();
  const auto decoder = bench.tokenizer->make_decoder();
  for (const std::string& text : bench.texts) {
    const Ids ids = bench.tokenizer->encode(text);
    Ids streamed;
    encoder->encode(text, 0, streamed);
    if (streamed != ids) return {false, fmt::format("make_encoder() gives other ids for {}", quote(text))};
    std::string decoded;
    for (const std::int32_t id : ids) decoder->decode(id, decoded);
    decoder->finish(decoded);
    if (decoded != bench.tokenizer->decode(ids))
      return {false, fmt::format("make_decoder() gives {} for the ids of {}", quote(decoded), quote(text))};
  }
  return {true, "encoders and streaming decoders give what the tokenizer gives"};
}

Finding check_tokenizer_threads(const TokenizerBench& bench) {
  constexpr std::size_t kThreads = 4;
  const auto code_all = [&] {
    std::vector<std::pair<Ids, std::string>> coded;
    for (const std::string& text : bench.texts) {
      Ids ids = bench.tokenizer->encode(text);
      std::string decoded = bench.tokenizer->decode(ids);
      coded.emplace_back(std::move(ids), std::move(decoded));
    }
    return coded;
  };
  const auto expected = code_all();
  std::vector<std::string> complaints(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::string& complaint : complaints)
      threads.emplace_back([&] {
        try {
          for (int round = 0; round < 20; ++round)
            if (code_all() != expected) complaint = "not every thread gets the same: something is kept between calls";
        } catch (const std::exception& error) {
          complaint = fmt::format("threw: {}", error.what());
        }
      });
  }
  for (const std::string& complaint : complaints)
    if (!complaint.empty()) return {false, complaint};
  return {true, fmt::format("{} threads at a time get what one gets", kThreads)};
}

/// Truncated and changed files must be read, or rejected with a core::Error.
Finding check_damaged_files(const TokenizerBench& bench) {
  constexpr std::size_t kTried = 64;
  const std::string& whole = bench.entry.example.content;
  std::size_t refused = 0;
  const auto try_content = [&](const std::string& content) {
    try {
      make_of(bench.entry, content)->encode("a b");
    } catch (const core::Error&) {
      ++refused;
    }
  };
  const std::size_t step = std::max<std::size_t>(1, whole.size() / kTried);
  for (std::size_t at = 0; at < whole.size(); at += step) {
    try_content(whole.substr(0, at));
    for (const char byte : {'\0', ' ', '\n', '\xFF'}) {
      std::string changed = whole;
      changed[at] = byte;
      try_content(changed);
    }
  }
  return {true, fmt::format("damaged files are read or refused ({}), never worse", refused)};
}

}  // namespace

std::vector<Verdict> check_tokenizer(const TokenizerEntry& entry) {
  if (entry.example.content.empty() || entry.example.texts.empty())
    return {{entry.name, "-", "text-round-trip", false,
             "the entry has no example; give it a small file, and texts that come back as they are"}};
  const std::pair<const char*, Finding (*)(const TokenizerBench&)> checks[] = {
      {"text-round-trip", check_text_round_trip},
      {"any-text", check_any_text},
      {"pieces", check_pieces},
      {"streams", check_streams},
      {"threads", check_tokenizer_threads},
      {"damaged-files", check_damaged_files}};
  std::vector<Verdict> verdicts;
  for (const auto& [check, run] : checks) {
    Finding finding;
    try {
      finding = run(TokenizerBench{entry});
    } catch (const std::exception& error) {
      finding = {false, fmt::format("threw: {}", error.what())};
    }
    verdicts.push_back({entry.name, "-", check, finding.passed, finding.detail});
  }
  return verdicts;
}

}  // namespace dragoman::plugins
