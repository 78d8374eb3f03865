#include "error_message.h"
#include "targets/tokenizer_json_harness.h"
#include "test_data.h"
#include "tokenizer_test_support.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path seed_folder() {
  return testing::source_folder() / "tests" / "fuzz" / "corpus" / "tokenizer_json";
}

std::string seed(const std::string& name) {
  return core::read_file(seed_folder() / (name + ".json"));
}

std::string json_error(const std::string& json) {
  return testing::error_of([&] { BpeTokenizer::parse(json, "file.json"); });
}

/// The error after one value of the seed `words` was set, by JSON pointer.
std::string error_with(const std::string& pointer, const core::Json& value, const std::string& name = "words") {
  core::Json json = core::parse_json(seed(name), "seed");
  json[core::Json::json_pointer(pointer)] = value;
  return json_error(json.dump());
}

TEST(TokenizerJson, ReadsWhatItWrites) {
  for (const char* name : {"plain", "words", "older_layout", "bytes", "digits"}) {
    const BpeTokenizer tokenizer = BpeTokenizer::parse(seed(name), name);
    const BpeTokenizer again = BpeTokenizer::parse(tokenizer.to_json(), name);
    EXPECT_EQ(again.to_json(), tokenizer.to_json()) << name;
    EXPECT_EQ(again.definition().pieces, tokenizer.definition().pieces) << name;
    EXPECT_EQ(again.definition().merges, tokenizer.definition().merges) << name;
    EXPECT_EQ(again.encode("ab"), tokenizer.encode("ab")) << name;
  }
}

TEST(TokenizerJson, SavesAndLoads) {
  const testing::TemporaryFolder folder;
  const BpeTokenizer tokenizer = BpeTokenizer::parse(seed("words"), "words");
  tokenizer.save(folder / "tokenizer.json");
  const auto loaded = load_tokenizer(folder / "tokenizer.json");
  EXPECT_EQ(loaded->size(), tokenizer.size());
  EXPECT_EQ(loaded->encode("river RIVER"), tokenizer.encode("river RIVER"));
  EXPECT_THROW(load_tokenizer(folder / "missing.json"), core::Error);
}

TEST(TokenizerJson, ReadsMergesInBothSpellings) {
  const BpeTokenizer tokenizer = BpeTokenizer::parse(seed("older_layout"), "older");
  EXPECT_THAT(testing::pieces_of(tokenizer, "abb"), ElementsAre("ab", "b"));
  EXPECT_THAT(tokenizer.definition().post_processor, HasSubstr("TemplateProcessing"));
  EXPECT_TRUE(tokenizer.is_special(3)) << "a special token that only the added tokens list";
}

TEST(TokenizerJson, LeavesTruncationAndPaddingToBatches) {
  core::Json json = core::parse_json(seed("words"), "seed");
  const BpeTokenizer plain = BpeTokenizer::parse(json.dump(), "plain");
  json["truncation"] = {{"max_length", 2}, {"strategy", "LongestFirst"}, {"stride", 0}, {"direction", "Right"}};
  json["padding"] = {{"strategy", {{"Fixed", 50}}}, {"pad_id", 0}, {"pad_token", "<unk>"}};
  EXPECT_EQ(BpeTokenizer::parse(json.dump(), "padded").encode("river river river"), plain.encode("river river river"));
}

/// tokenizers 0.22 for {"vocab": {a, b, c, ab, bc}}: of a repeated merge the last rank counts.
TEST(TokenizerJson, OfARepeatedMergeTheLastCounts) {
  core::Json json = core::parse_json(seed("plain"), "seed");
  const auto pieces = [&](const core::Json& merges) {
    json["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"bc", 4}};
    json["model"]["merges"] = merges;
    json["model"]["unk_token"] = nullptr;
    json["model"]["byte_fallback"] = false;
    json["added_tokens"] = core::Json::array();
    return testing::pieces_of(BpeTokenizer::parse(json.dump(), "file.json"), "abc");
  };
  EXPECT_THAT(pieces({"a b", "b c"}), ElementsAre("ab", "c"));
  EXPECT_THAT(pieces({"a b", "b c", "a b"}), ElementsAre("a", "bc"));
  EXPECT_THAT(pieces({"a b", "a b", "b c", "b c"}), ElementsAre("ab", "c"));
}

TEST(TokenizerJson, ByteFallbackWithoutBytesNeverFallsBack) {
  core::Json json = core::parse_json(seed("words"), "seed");
  const BpeTokenizer without = BpeTokenizer::parse(json.dump(), "plain");
  ASSERT_FALSE(without.definition().byte_fallback());
  json["model"]["byte_fallback"] = true;
  const BpeTokenizer with = BpeTokenizer::parse(json.dump(), "bytes");
  for (const char* text : {"river", "river \u4F45", "\u00E9\u00E9"}) EXPECT_EQ(with.encode(text), without.encode(text));
}

TEST(TokenizerJson, RefusesUnsupportedPartsByName) {
  EXPECT_THAT(error_with("/version", "2.0"), HasSubstr("2.0"));
  EXPECT_THAT(error_with("/model/type", "Unigram"), HasSubstr("Unigram"));
  EXPECT_THAT(error_with("/model/dropout", 0.1), HasSubstr("model.dropout: 0.1: a file that draws its pieces"));
  EXPECT_THAT(error_with("/model/dropout", "x"), HasSubstr("expected a number"));
  EXPECT_THAT(error_with("/model/continuing_subword_prefix", "##"), HasSubstr("continuing_subword_prefix"));
  EXPECT_THAT(error_with("/model/end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(error_with("/model/surprise", 1), HasSubstr("surprise"));
  EXPECT_THAT(error_with("/surprise", 1), HasSubstr("surprise"));
  EXPECT_THAT(error_with("/normalizer", {{"type", "BertNormalizer"}}), HasSubstr("BertNormalizer"));
  EXPECT_THAT(error_with("/normalizer/normalizers/3/pattern", {{"Regex", " +"}}), HasSubstr("normalizers[3]"));
  EXPECT_THAT(error_with("/pre_tokenizer", {{"type", "ByteLevel"}}), HasSubstr("ByteLevel"));
  EXPECT_THAT(error_with("/pre_tokenizer/behavior", "Isolated"), HasSubstr("Isolated"));
  EXPECT_THAT(error_with("/pre_tokenizer/invert", true), HasSubstr("invert"));
  EXPECT_THAT(error_with("/post_processor", {{"type", "ByteLevel"}}), HasSubstr("post-processor 'ByteLevel'"));
  EXPECT_THAT(error_with("/decoder", {{"type", "WordPiece"}}), HasSubstr("WordPiece"));
  EXPECT_THAT(error_with("/decoder", nullptr), HasSubstr("without a decoder"));
  EXPECT_THAT(error_with("/decoder/decoders/2/pattern", {{"Regex", "(?<=x) "}}), HasSubstr("decoders[2]"));
  EXPECT_THAT(error_with("/added_tokens/0/lstrip", true), HasSubstr("lstrip"));
  EXPECT_THAT(error_with("/added_tokens/1/normalized", true), HasSubstr("normalized"));
}

TEST(TokenizerJson, RefusesByteLevelAndWordEndsInOtherLayouts) {
  const core::Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const auto sequence = [&](const std::string& expression, const std::string& behavior) {
    const core::Json split = {
        {"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", behavior}, {"invert", false}};
    return core::Json{{"type", "Sequence"}, {"pretokenizers", core::Json::array({split, bytes})}};
  };
  EXPECT_THAT(error_with("/pre_tokenizer", sequence("\\p{L}+", "Isolated")), HasSubstr("this regular expression"));
  EXPECT_THAT(error_with("/pre_tokenizer", sequence("\\p{L}+", "Removed")), HasSubstr("'Removed'"));
  EXPECT_THAT(error_with("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", core::Json::array({bytes})}}),
              HasSubstr("in sequence"));
  EXPECT_THAT(error_with("/decoder", bytes), HasSubstr("without the pre-tokenizer"));
  EXPECT_THAT(error_with("/decoder", {{"type", "BPEDecoder"}, {"suffix", "</w>"}}), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(error_with("/post_processor", {{"type", "Sequence"}, {"processors", core::Json::array({bytes})}}),
              HasSubstr("processors[0]"));
}

TEST(TokenizerJson, RefusesContradictions) {
  EXPECT_THAT(error_with("/model/vocab/a", 4), HasSubstr("share the id 4"));
  EXPECT_THAT(error_with("/model/vocab/a", 99), HasSubstr("a gap in its ids"));
  EXPECT_THAT(error_with("/model/vocab/a", -1), HasSubstr("whole number"));
  EXPECT_THAT(error_with("/model/vocab/a", 3.5), HasSubstr("whole number"));
  EXPECT_THAT(error_with("/model/vocab", core::Json::array()), HasSubstr("expected an object"));
  EXPECT_THAT(error_with("/model/merges/0", core::Json{"r", "nothing"}),
              AllOf(HasSubstr("merges[0]"), HasSubstr("nothing")));
  EXPECT_THAT(error_with("/model/merges/0", core::Json{"a", "r"}), HasSubstr("'ar' is not in the vocabulary"));
  EXPECT_THAT(error_with("/model/merges/0", "a"), HasSubstr("merges[0]"));
  EXPECT_THAT(error_with("/model/unk_token", "nothing"), HasSubstr("unk_token"));
  EXPECT_THAT(error_with("/added_tokens/0/id", 5), HasSubstr("another id"));
  // Of one text the first counts, so the symbol after which a space goes is none.
  EXPECT_THAT(error_with("/added_tokens/1/content", "<unk>"), HasSubstr("this Replace after Fuse"));
  EXPECT_THAT(error_with("/model/vocab/<ph", 12), HasSubstr("no error"));
  core::Json spells = core::parse_json(seed("words"), "seed");
  spells["model"]["vocab"]["<ph"] = 12;
  spells["model"]["vocab"][">"] = 13;
  spells["model"]["merges"].push_back({"<ph", ">"});
  EXPECT_THAT(json_error(spells.dump()), HasSubstr("spells the added token '<ph>'"));
  core::Json bytes = core::parse_json(seed("bytes"), "seed");
  bytes["model"]["vocab"]["<0x4"] = 259;
  bytes["model"]["vocab"]["1>"] = 260;
  bytes["model"]["merges"].push_back({"<0x4", "1>"});
  EXPECT_THAT(json_error(bytes.dump()), HasSubstr("spells the byte piece '<0x41>'"));
}

TEST(TokenizerJson, RefusesUnknownKeysInEveryPart) {
  const core::Json normalizers = core::Json::array({
      {{"type", "NFC"}, {"lang", "tr"}},
      {{"type", "Prepend"}, {"prepend", "_"}, {"at", "end"}},
      {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "b"}, {"times", 1}},
      {{"type", "Replace"}, {"pattern", {{"String", "a"}, {"Regex", "^ +"}}}, {"content", ""}},
      {{"type", "Sequence"}, {"normalizers", core::Json::array()}, {"reverse", true}},
  });
  for (const core::Json& part : normalizers)
    EXPECT_THAT(error_with("/normalizer", part), AllOf(HasSubstr("file.json.normalizer"), HasSubstr("the key '")));
  const core::Json decoders = core::Json::array({
      {{"type", "Fuse"}, {"with", "-"}},
      {{"type", "ByteFallback"}, {"with", "-"}},
      {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "b"}, {"times", 1}},
      {{"type", "ByteLevel"}, {"skip", true}},
      {{"type", "BPEDecoder"}, {"suffix", "</w>"}, {"prefix", ""}},
  });
  for (const core::Json& part : decoders)
    EXPECT_THAT(error_with("/decoder", part), AllOf(HasSubstr("file.json.decoder: the key '")));
  EXPECT_THAT(error_with("/pre_tokenizer", {{"type", "WhitespaceSplit"}, {"keep", true}}), HasSubstr("the key 'keep'"));
}

TEST(TokenizerJson, RefusesDecodersThatContradictOneAnother) {
  const auto error_of_decoders = [](const core::Json& one, const core::Json& other) {
    return error_with("/decoder", {{"type", "Sequence"}, {"decoders", core::Json::array({one, other})}});
  };
  const auto metaspace = [](const char* scheme) {
    return core::Json{{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}};
  };
  EXPECT_THAT(error_of_decoders(metaspace("always"), metaspace("never")),
              HasSubstr("file.json.decoder.decoders[1]: a second 'Metaspace'"));
  EXPECT_THAT(
      error_of_decoders({{"type", "BPEDecoder"}, {"suffix", "@@"}}, {{"type", "BPEDecoder"}, {"suffix", "</w>"}}),
      HasSubstr("a second 'BPEDecoder'"));
  EXPECT_THAT(error_of_decoders({{"type", "ByteLevel"}}, {{"type", "ByteLevel"}}), HasSubstr("a second 'ByteLevel'"));
  EXPECT_THAT(error_with("/decoder", {{"type", "BPEDecoder"}, {"suffix", ""}}), HasSubstr("an empty suffix"));
}

TEST(TokenizerJson, ErrorsNameTheFile) {
  EXPECT_THAT(json_error("{\n\"a\": }"), AllOf(HasSubstr("file.json: not valid JSON: "),
                                               HasSubstr(" at line 2, column"), Not(HasSubstr("json.exception"))));
  EXPECT_THAT(json_error("[]"), HasSubstr("file.json: expected an object"));
  EXPECT_THAT(json_error("1e999"), HasSubstr("file.json"));
  EXPECT_THAT(json_error(std::string(100'000, '[') + std::string(100'000, ']')), HasSubstr("nested"));
}

TEST(TokenizerJson, ExpansionWithoutEndIsStopped) {
  core::Json bomb = core::parse_json(seed("words"), "seed");
  core::Json steps = core::Json::array();
  for (int i = 0; i < 40; ++i)
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  bomb["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  const BpeTokenizer tokenizer = BpeTokenizer::parse(bomb.dump(), "bomb");
  EXPECT_THROW(tokenizer.encode("a"), core::Error);
  EXPECT_THAT(error_with("/decoder/decoders/0",
                         {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}}),
              HasSubstr("times as long"));
}

TEST(TokenizerJson, EveryPrefixIsATokenizerOrAnError) {
  for (const auto& file : std::filesystem::directory_iterator(seed_folder())) {
    const std::string json = core::read_file(file.path());
    EXPECT_TRUE(fuzz::exercise_tokenizer_json(json)) << file.path();
    const std::size_t step = json.size() > 3000 ? 7 : 1;
    for (std::size_t size = 0; size < json.size(); size += step)
      EXPECT_FALSE(fuzz::exercise_tokenizer_json(json.substr(0, size)));
  }
}

/// Changes of the kinds that a fuzzer makes: bytes, cuts, copies, and numbers.
std::string mutate_json(std::string json, std::mt19937& random) {
  for (std::size_t n = 1 + random() % 3; n > 0 && !json.empty(); --n) {
    const std::size_t at = random() % json.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 20, json.size() - at);
    switch (random() % 5) {
      case 0:
        json[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        json.erase(at, length);
        break;
      case 2:
        json.insert(random() % json.size(), json.substr(at, length));
        break;
      case 3:
        if (const std::size_t digit = json.find_first_of("0123456789", at); digit != std::string::npos)
          json[digit] = static_cast<char>('0' + random() % 10);
        break;
      default:
        json[at] = "\"{}[],:\\ <>ab"[random() % 14];
    }
  }
  return json;
}

TEST(TokenizerJson, ChangedFilesAreTokenizersOrErrors) {
  int still_tokenizers = 0;
  for (const auto& file : std::filesystem::directory_iterator(seed_folder())) {
    const std::string json = core::read_file(file.path());
    std::mt19937 random(17);
    const int rounds = json.size() > 3000 ? 500 : 3000;
    for (int i = 0; i < rounds; ++i)
      still_tokenizers += fuzz::exercise_tokenizer_json(mutate_json(json, random)) ? 1 : 0;
  }
  EXPECT_GT(still_tokenizers, 100) << "the changes are too coarse to get past the JSON";
}

}  // namespace
}  // namespace dragoman::tokenizer
