#include "error_message.h"
#include "golden_cases.h"
#include "test_data.h"

#include <ctime>

#include <gmock/gmock.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>

namespace dragoman::imports {
namespace {

using core::Json;
using testing::error_of;
using ::testing::HasSubstr;

/// A golden folder whose tokenizer is what golden/make_added_tokens.py made of it.
std::filesystem::path folder_as_saved_today(const testing::TemporaryFolder& scratch, const std::string& family) {
  std::filesystem::path folder = scratch / family;
  std::filesystem::copy(testing::golden_file("huggingface") / family, folder);
  for (const char* name : {"expected.json", "spiece.model", "sentencepiece.bpe.model", "added_tokens.json",
                           "special_tokens_map.json", "vocab.json", "merges.txt"})
    std::filesystem::remove(folder / name);
  std::filesystem::copy(testing::golden_file("added_tokens") / family, folder,
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  return folder;
}

TEST(AddedTokens, HaveTheIdsOfTransformers) {
  plugins::Host host;
  const testing::TemporaryFolder scratch;
  const Json wanted = core::load_json(testing::golden_file("added_tokens/ids.json").string());
  EXPECT_EQ(wanted.size(), 5U);
  for (const auto& [family, line] : wanted.items()) {
    const auto loaded = plugins::load_model(folder_as_saved_today(scratch, family), host);
    EXPECT_EQ(loaded.source_tokenizer->encode(line["text"].get<std::string>()),
              line["ids"].get<std::vector<std::int32_t>>())
        << family;
  }
}

TEST(AddedTokens, AreReadFromTokenizerJsonWhereASentencePieceModelStandsBesideIt) {
  plugins::Host host;
  const testing::TemporaryFolder scratch;
  const Json wanted = core::load_json(testing::golden_file("added_tokens/ids.json").string());
  const auto folder = folder_as_saved_today(scratch, "t5");
  std::filesystem::copy(testing::golden_file("huggingface/t5/spiece.model"), folder / "spiece.model");
  core::write_file(folder / "added_tokens.json", R"({"<brk>": 84})");
  EXPECT_EQ(plugins::load_model(folder, host).source_tokenizer->encode(wanted["t5"]["text"].get<std::string>()),
            wanted["t5"]["ids"].get<std::vector<std::int32_t>>());
}

TEST(AddedTokens, OfMultilingualFoldersAreLanguages) {
  plugins::Host host;
  const testing::TemporaryFolder scratch;
  const auto nllb = plugins::load_config(folder_as_saved_today(scratch, "nllb"), host).languages;
  EXPECT_EQ(nllb.languages.size(), 202U);
  EXPECT_EQ(nllb.tags("eng_Latn", "deu_Latn").source_prefix, std::vector<std::int32_t>{128});
  EXPECT_EQ(nllb.source_language, "eng_Latn");
  const auto mbart = plugins::load_config(folder_as_saved_today(scratch, "mbart50"), host).languages;
  EXPECT_EQ(mbart.languages.size(), 52U);
  EXPECT_EQ(mbart.tags("en_XX", "de_DE").source_prefix, std::vector<std::int32_t>{84});
  // BART's line begins with <s>, whichever file its tokenizer is read from.
  EXPECT_EQ(plugins::load_config(folder_as_saved_today(scratch, "bart"), host).languages.always.source_prefix,
            std::vector<std::int32_t>{0});
}

/// Tokens that stand beside vocab.json, whose id no piece of it has.
TEST(AddedTokens, OfMarianAndBartThatAreSpecialAreControlPieces) {
  plugins::Host host;
  for (const auto& [family, id] : {std::pair("marian", 80), std::pair("bart", 299)}) {
    const testing::TemporaryFolder scratch;
    const auto folder = scratch / "foreign";
    std::filesystem::copy(testing::golden_file("huggingface") / family, folder);
    Json vocabulary = Json::object();
    const Json original = core::load_json((folder / "vocab.json").string());
    for (const auto& [piece, place] : original.items())
      if (place != id) vocabulary[piece] = place;
    if (std::filesystem::exists(folder / "merges.txt")) {  // the last one makes the last piece
      const std::string merges = core::read_file(folder / "merges.txt");
      core::write_file(folder / "merges.txt", merges.substr(0, merges.rfind('\n', merges.size() - 2) + 1));
    }
    core::write_file(folder / "vocab.json", vocabulary.dump());
    Json config = core::load_json((folder / "tokenizer_config.json").string());
    config["added_tokens_decoder"][std::to_string(id)] = {{"content", "<brk>"}, {"special", true}};
    core::write_file(folder / "tokenizer_config.json", config.dump());
    const auto loaded = plugins::load_model(folder, host);
    EXPECT_EQ(loaded.source_tokenizer->piece(id), "<brk>") << family;
    EXPECT_TRUE(loaded.source_tokenizer->is_special(id)) << family;
    EXPECT_EQ(loaded.source_tokenizer->encode("a<brk>", {.match_special_tokens = true}).back(), id) << family;
    EXPECT_EQ(loaded.source_tokenizer->decode(std::vector<std::int32_t>{id}), "") << family;
  }
}

/// Returns the processor time of opening a folder with this number of added tokens.
double seconds_with_tokens(int tokens) {
  const testing::TemporaryFolder scratch;
  const auto folder = scratch / "foreign";
  std::filesystem::copy(testing::golden_file("huggingface") / "bart", folder);
  std::filesystem::remove(folder / "tokenizer.json");
  const auto first = core::load_json((folder / "vocab.json").string()).size();
  Json config = core::load_json((folder / "tokenizer_config.json").string());
  Json numbers = Json::object();
  for (int i = 0; i < tokens; ++i) {
    const std::string text = "<t" + std::to_string(i) + ">";
    config["added_tokens_decoder"][std::to_string(first + static_cast<std::size_t>(i))] = {{"content", text}};
    config["additional_special_tokens"].push_back(text);
    numbers[text] = first + static_cast<std::size_t>(i);
  }
  core::write_file(folder / "tokenizer_config.json", config.dump());
  core::write_file(folder / "added_tokens.json", numbers.dump());
  plugins::Host host;
  const std::clock_t begin = std::clock();
  EXPECT_EQ(error_of([&] { plugins::load_config(folder, host); }), "no error");
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// A search of the vocabulary for each token takes the square of their number: sixteen times as long for four times as
/// many.
TEST(AddedTokens, MayBeAsManyAsAVocabulary) {
  const double few = seconds_with_tokens(8'000);
  EXPECT_LT(seconds_with_tokens(32'000), 8 * few);
}

TEST(AddedTokens, AreNamedWhereNothingReadsThem) {
  plugins::Host host;
  for (const char* family : {"marian", "m2m100", "nllb", "mbart50", "pegasus", "t5"}) {
    const testing::TemporaryFolder scratch;
    const auto folder = scratch / "foreign";
    std::filesystem::copy(testing::golden_file("huggingface") / family, folder);
    Json tokens = Json::object();
    if (std::filesystem::exists(folder / "added_tokens.json"))
      tokens = core::load_json((folder / "added_tokens.json").string());
    tokens["<brk>"] = 83;
    core::write_file(folder / "added_tokens.json", tokens.dump());
    std::filesystem::remove(folder / "tokenizer.json");
    EXPECT_THAT(error_of([&] { plugins::load_config(folder, host); }), HasSubstr("'<brk>'")) << family;
  }
}

}  // namespace
}  // namespace dragoman::imports
