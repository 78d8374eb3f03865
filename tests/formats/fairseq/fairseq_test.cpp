#include "archive/zip_writer.h"
#include "golden_cases.h"

#include <fstream>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>

namespace dragoman::imports {
namespace {

using core::Json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;

/// What golden/make_fairseq.py made: checkpoints of fairseq's own classes, and what fairseq makes of some lines with
/// them.
std::filesystem::path fairseq_folder(const std::string& family) {
  return testing::golden_file("fairseq") / family;
}

class FairseqFamily : public ::testing::TestWithParam<std::string> {
 protected:
  static std::vector<std::int32_t> ids(const Json& list) { return list.get<std::vector<std::int32_t>>(); }

  std::vector<std::int32_t> translate(const std::string& text, decoding::DecodingOptions search,
                                      double* score = nullptr) const {
    const pipeline::Record record = model_.translate(text, search);
    EXPECT_FALSE(record.failed()) << record.message;
    std::vector<std::int32_t> tokens;
    for (const Json& piece : record.fields["tokens"])
      tokens.push_back(*model_.loaded().target_tokenizer->id(piece.get<std::string>()));
    if (score != nullptr) *score = record.fields["score"].get<double>();
    return tokens;
  }

  plugins::Host host_;
  ImportedModel model_{host_, fairseq_folder(GetParam())};
  Json expected_ = load_expected("fairseq/" + GetParam());
};

TEST_P(FairseqFamily, HasTheLogitsOfFairseq) {
  LargestError largest;
  for (const Json& line : expected_["lines"]) {
    const auto got = model_.log_probabilities(ids(line["source_ids"]), ids(line["target_ids"]));
    const auto& wanted = line["log_probabilities"];
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], wanted[i].get<double>(), 3e-5) << line["source"];
      largest.add(got[i], wanted[i].get<double>());
    }
  }
}

TEST_P(FairseqFamily, TranslatesAsFairseqDoes) {
  int compared = 0;
  const auto source_tokenizer = model_.loaded().source_tokenizer;
  for (const Json& line : expected_["lines"]) {
    // Where the folder has a tokenizer its text, else pieces.
    std::string text = line["source"].get<std::string>();
    auto pieces = ids(line["source_ids"]);
    pieces.pop_back();
    if (GetParam() == "joint") {
      EXPECT_EQ(source_tokenizer->encode(text), pieces);
    } else {
      text.clear();
      for (const std::int32_t id : pieces) text.append(text.empty() ? "" : " ").append(source_tokenizer->piece(id));
    }
    const auto without_end = [&](const Json& tokens) {
      auto all = ids(tokens);
      all.pop_back();
      return all;
    };
    // fairseq never writes the padding, nor nothing at all.
    decoding::DecodingOptions greedy{.minimum_length = 1, .maximum_length = 40, .suppressed = {{1}}};
    greedy.strategy = "greedy";
    EXPECT_EQ(translate(text, greedy), without_end(line["greedy"])) << line["source"];
    decoding::DecodingOptions beam{
        .beam_size = expected_["beam"].get<int>(), .minimum_length = 1, .maximum_length = 40, .suppressed = {{1}}};
    EXPECT_EQ(translate(text, beam), without_end(line["beam"])) << line["source"];
    // The probability of what is suppressed goes to the other tokens here, and to none there.
    beam.suppressed.clear();
    beam.minimum_length = 0;
    double score = 0;
    if (translate(text, beam, &score) != without_end(line["beam"])) continue;
    EXPECT_NEAR(score, line["beam_score"].get<double>(), 2e-5) << line["source"];
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

INSTANTIATE_TEST_SUITE_P(Families, FairseqFamily, ::testing::Values("joint", "codes", "separate"),
                         [](const auto& family) { return family.param; });

TEST(FairseqImporter, SearchesAsFairseqDoesAndSaysWhereItIsFrom) {
  plugins::Host host;
  const ImportedModel model(host, fairseq_folder("codes") / "checkpoint_best.pt");
  const formats::ModelConfig& config = model.loaded().config;
  EXPECT_EQ(config.decoding["beam_size"], 5);
  EXPECT_EQ(config.decoding["minimum_length"], 1);
  EXPECT_EQ(config.sequences.decoder_start, 2);
  EXPECT_EQ(config.model["positions"], "learned");
  EXPECT_EQ(config.model["position_offset"], 2);
  EXPECT_EQ(config.model["embedding_scale"], false);
  EXPECT_EQ(config.model["decoder_layers"], 1);
  EXPECT_EQ(model.loaded().target_tokenizer->piece(4), "o@@");
  EXPECT_THAT(core::read_file(model.folder() / "README.md"), HasSubstr("fairseq checkpoint checkpoint_best.pt"));
}

TEST(FairseqImporter, NamesTheFileThatDoesNotFit) {
  plugins::Host host;
  testing::TemporaryFolder scratch;
  const auto folder = scratch / "model";
  std::filesystem::copy(fairseq_folder("joint"), folder);
  const auto error = [&] { return error_of([&] { plugins::import_model(folder, scratch / "imported", host); }); };
  core::write_file(folder / "dict.en.txt", core::read_file(folder / "dict.en.txt") + "more 1\n");
  EXPECT_THAT(error(), HasSubstr("dict.en.txt are different dictionaries"));
  core::write_file(folder / "dict.en.txt", "no count\n");
  EXPECT_THAT(error(), HasSubstr("dict.en.txt:1: expected a piece and its count"));
  core::write_file(folder / "dict.en.txt", "a 1\na 1\n");
  EXPECT_THAT(error(), HasSubstr("dict.en.txt:2: 'a' has the id 4 already"));
  core::write_file(folder / "dict.en.txt", "a 1\nb 1\na 1 #fairseq:overwrite\n");
  EXPECT_THAT(error(), HasSubstr("different dictionaries"));
  std::filesystem::remove(folder / "dict.en.txt");
  std::filesystem::remove(folder / "dict.de.txt");
  EXPECT_THAT(error(), HasSubstr("no importer recognises it"));
}

TEST(FairseqImporter, TellsADamagedStorageByItsSum) {
  plugins::Host host;
  testing::TemporaryFolder scratch;
  const auto folder = scratch / "model";
  std::filesystem::copy(fairseq_folder("joint"), folder);
  // A float in the first storage that torch wrote; the headers stay as they are.
  std::fstream file(folder / "checkpoint_best.pt", std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::size_t place = bytes.find("/data/0") + 600;
  file.seekp(static_cast<std::streamoff>(place)).put(static_cast<char>(bytes[place] ^ 1));
  file.close();
  EXPECT_THAT(error_of([&] { plugins::import_model(folder, scratch / "imported", host); }),
              HasSubstr("has the CRC-32"));
}

/// A file as torch.save() writes it, of a dictionary with these keys.
void write_torch_file(const std::filesystem::path& path, const std::vector<std::string>& keys) {
  std::string pickle("\x80\x02}(");
  for (const std::string& key : keys)
    pickle.append("X").append(1, static_cast<char>(key.size())).append(3, '\0').append(key).append("}");
  ZipWriter archive(path);
  archive.add("archive/data.pkl", {pickle.append("u.")});
  archive.finish();
}

TEST(Fairseq, OtherFilesOfTorchAreNamedAndRefused) {
  plugins::Host host;
  const testing::TemporaryFolder folder;
  const auto reason = [&](const std::string& name) {
    return error_of([&] { plugins::import_model(folder / name, folder / "out", host); });
  };
  std::filesystem::copy(fairseq_folder("separate") / "checkpoint_best.pt", folder / "fairseq.pt");
  EXPECT_THAT(reason("fairseq.pt"),
              AllOf(HasSubstr("fairseq.pt: looks like a checkpoint of fairseq"), HasSubstr("copy the dictionaries")));
  write_torch_file(folder / "step_1000.pt", {"model", "generator", "vocab", "opt", "optim"});
  EXPECT_THAT(reason("step_1000.pt"), AllOf(HasSubstr("step_1000.pt: looks like a checkpoint of OpenNMT-py"),
                                            HasSubstr("docs/guides/models.md")));
  write_torch_file(folder / "weights.pt", {"encoder", "decoder"});
  EXPECT_THAT(reason("weights.pt"),
              AllOf(HasSubstr("weights.pt: looks like a checkpoint of PyTorch"), HasSubstr("docs/guides/models.md")));
  for (const char* name : {"old.pt", "hostile.pt"})
    EXPECT_THAT(error_of([&] { plugins::import_model(testing::golden_file("torch") / name, folder / "out", host); }),
                HasSubstr(std::string(name) + ": looks like a checkpoint of PyTorch, as OpenNMT-py and others"));
  ZipWriter other(folder / "arrays.npz");
  other.add("a.npy", {"x"});
  other.finish();
  EXPECT_THAT(reason("arrays.npz"), Not(HasSubstr("PyTorch")));
}

}  // namespace
}  // namespace dragoman::imports
