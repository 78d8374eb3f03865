#include "tokenizer_test_support.h"

#include <set>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

/// A tokenizer that leaves make_decoder() as it is, like a plugin's.
class Letters final : public Tokenizer {
 public:
  std::int32_t size() const override { return 26; }
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& /*options*/) const override {
    std::vector<std::int32_t> ids;
    for (const char c : text) ids.push_back(c - 'a');
    return ids;
  }
  std::vector<Piece> encode_pieces(std::string_view /*text*/, const EncodeOptions& /*options*/) const override {
    return {};
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) text.insert(text.begin(), static_cast<char>('a' + id));  // the last one first
    return text;
  }
  std::string_view piece(std::int32_t id) const override {
    core::require(id >= 0 && id < size(), core::ErrorCode::kInvalidArgument, "no such letter: {}", id);
    return std::string_view("abcdefghijklmnopqrstuvwxyz").substr(static_cast<std::size_t>(id), 1);
  }
  std::optional<std::int32_t> id(std::string_view piece) const override {
    return piece.size() == 1 && piece[0] >= 'a' && piece[0] <= 'z' ? std::optional(piece[0] - 'a') : std::nullopt;
  }
  bool is_special(std::int32_t /*id*/) const override { return false; }
};

/// Ids as a bad model makes them. Bytes of characters, their parts, spaces and tokens come more often than by chance.
std::vector<std::int32_t> random_ids(const Tokenizer& tokenizer, std::mt19937& random) {
  static const std::string parts[] = {"<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "<0xE2>", "<0x96>", "<0x81>", "<0xED>",
                                      "<0xA0>", "<0xC3>", "<0x20>", "<0xFF>", "\u2581", "</s>",   "<ph>",   "@",
                                      "@@",     "<0x90>", "<0x9B>", "<0x9A>", "<0xA3>", "\u241B", "\u2423"};
  std::vector<std::int32_t> ids;
  for (std::size_t n = random() % 20; n > 0; --n) {
    const auto known = random() % 2 == 0 ? tokenizer.id(parts[random() % std::size(parts)]) : std::nullopt;
    ids.push_back(known.value_or(static_cast<std::int32_t>(random() % static_cast<unsigned>(tokenizer.size()))));
  }
  return ids;
}

/// Whether one of the places lies inside a character of the text.
bool cuts_a_character(const std::string& text, const std::set<std::size_t>& places) {
  for (std::size_t i = 0; i < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, i);
    const auto inside = places.upper_bound(i);
    if (c.valid && inside != places.end() && *inside < i + c.length) return true;
    i += c.length;
  }
  return false;
}

void expect_streams(const Tokenizer& tokenizer, bool gives_at_once) {
  std::mt19937 random(5);
  const auto decoder = tokenizer.make_decoder();
  std::size_t given_early = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::vector<std::int32_t> ids = random_ids(tokenizer, random);
    std::string text;
    std::set<std::size_t> places;
    for (const std::int32_t id : ids) {
      decoder->decode(id, text);
      places.insert(text.size());
    }
    given_early += text.size();
    decoder->finish(text);
    ASSERT_EQ(text, tokenizer.decode(ids)) << ::testing::PrintToString(ids);
    ASSERT_FALSE(cuts_a_character(text, places)) << ::testing::PrintToString(ids);
  }
  EXPECT_EQ(given_early > 0, gives_at_once);
}

LearnOptions small() {
  LearnOptions options;
  options.vocab_size = 500;
  return options;
}

BpeTokenizer learn_golden(const LearnOptions& options) {
  return learn_bpe({testing::golden_file("corpus.txt")}, options);
}

TEST(StreamingDecoder, GivesWhatDecodeGives) {
  expect_streams(learn_golden(small()), true);
}

TEST(StreamingDecoder, GivesWhatDecodeGivesAroundUserSymbols) {
  LearnOptions options = small();
  options.user_symbols = {"<ph>", "@", "@@", "a@", "ph>a"};
  expect_streams(learn_golden(options), true);
}

TEST(StreamingDecoder, GivesWhatDecodeGivesForTheFilesOfOthers) {
  for (const char* name : {"sentencepiece_plain.model", "sentencepiece_bytes.model", "sentencepiece_no_prefix.model",
                           "byte_level_prefix.tokenizer.json", "byte_level_cl100k_variant.tokenizer.json",
                           "subword_nmt.codes01", "subword_nmt.codes02", "ranks.tiktoken"})
    expect_streams(BpeTokenizer(read_tokenizer_file(testing::golden_file(name))), true);
}

TEST(StreamingDecoder, GivesWhatDecodeGivesForSentencePiece) {
  for (const char* name : {"unigram_plain", "unigram_bytes", "unigram_no_prefix", "unigram_suffix", "unigram_symbols",
                           "bpe_symbols", "bpe_symbols_bytes", "bpe_suffix", "bpe_map_keeps_spaces"})
    expect_streams(*load_tokenizer(testing::golden_file("sentencepiece_" + std::string(name) + ".model")), true);
}

/// Nothing but bytes that may become a character waits.
TEST(StreamingDecoder, OfAUnigramModelKeepsNothingBack) {
  const auto tokenizer = load_tokenizer(testing::golden_file("sentencepiece_unigram_bytes.model"));
  const auto decoder = tokenizer->make_decoder();
  std::string text;
  for (const std::int32_t id : tokenizer->encode("the river \U0001F600 and")) decoder->decode(id, text);
  EXPECT_EQ(text, "the river \U0001F600 and");
  decoder->decode(*tokenizer->id("<0xF0>"), text);
  EXPECT_EQ(text, "the river \U0001F600 and");
  decoder->finish(text);
  EXPECT_EQ(text, "the river \U0001F600 and\uFFFD");
}

TEST(StreamingDecoder, GivesWhatDecodeGivesWithTheIdsOfADictionary) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"subword_nmt.codes02", "sentencepiece_unigram_bytes.model", "default.tokenizer.json"}) {
    const auto own = load_tokenizer(testing::golden_file(name));
    std::string lines = "madeup@@ 1\nother 1\n@@ 1\n";
    for (std::int32_t id = 0; id < std::min(own->size(), 400); ++id) {
      const std::string piece(own->piece(id));
      if (!own->is_special(id) && lines.find("\n" + piece + " ") == std::string::npos &&
          piece.find(' ') == std::string::npos)
        lines += piece + " 1\n";
    }
    core::write_file(folder / "dict.txt", lines);
    expect_streams(*open_tokenizer_file(testing::golden_file(name), {.dictionary = folder / "dict.txt"}), true);
  }
}

TEST(StreamingDecoder, OfATokenizerThatCannotStreamGivesAllAtTheEnd) {
  expect_streams(Letters(), false);
}

TEST(StreamingDecoder, GivesWordsAsSoonAsTheyAreThere) {
  const BpeTokenizer tokenizer = learn_golden(small());
  const auto decoder = tokenizer.make_decoder();
  std::string text;
  for (const std::int32_t id : tokenizer.encode("the river")) {
    const std::string before = text;
    decoder->decode(id, text);
    EXPECT_GT(text.size(), before.size()) << tokenizer.piece(id);
  }
  EXPECT_EQ(text, "the river");
}

TEST(StreamingDecoder, HoldsACharacterBackUntilItIsWhole) {
  const BpeTokenizer tokenizer = learn_golden(small());
  const auto decoder = tokenizer.make_decoder();
  std::string text;
  for (const char* byte : {"<0xF0>", "<0x9F>", "<0x98>"}) decoder->decode(*tokenizer.id(byte), text);
  EXPECT_EQ(text, "");
  decoder->decode(*tokenizer.id("<0x80>"), text);
  EXPECT_EQ(text, "\U0001F600");
  decoder->decode(*tokenizer.id("<0xF0>"), text);
  decoder->decode(*tokenizer.id("<0x41>"), text);
  EXPECT_EQ(text,
            "\U0001F600\xF0"
            "A")
      << "F0 cannot become a character any more";
}

TEST(StreamingDecoder, SurvivesAnIdThatThereIsNot) {
  const BpeTokenizer tokenizer = learn_golden(small());
  const Letters letters;
  for (const Tokenizer* each : {static_cast<const Tokenizer*>(&tokenizer), static_cast<const Tokenizer*>(&letters)}) {
    const auto decoder = each->make_decoder();
    const std::vector<std::int32_t> ids = each->encode("the");
    std::string text;
    for (const std::int32_t id : ids) decoder->decode(id, text);
    EXPECT_THROW(decoder->decode(each->size(), text), core::Error);
    EXPECT_THROW(decoder->decode(-1, text), core::Error);
    decoder->finish(text);
    EXPECT_EQ(text, each->decode(ids));
  }
}

}  // namespace
}  // namespace dragoman::tokenizer
