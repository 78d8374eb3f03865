#include "golden_cases.h"
#include "marian/model_file.h"

#include <fstream>
#include <regex>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>

namespace dragoman::imports {
namespace {

using testing::error_of;
using testing::golden_file;
using ::testing::HasSubstr;

std::filesystem::path marian_golden(const std::string& name) {
  return golden_file("marian/" + name);
}

core::Json opus_files() {
  return {{"vocabulary", marian_golden("opus/opus.vocab.yml").string()},
          {"source_tokenizer", marian_golden("opus/source.spm").string()},
          {"target_tokenizer", marian_golden("opus/target.spm").string()}};
}

/// golden/make_marian.py computes them from Marian's formulas, and for `opus` checks that with transformers.
void expect_agreement(const ImportedModel& model, const std::string& name, double tolerance) {
  const core::Json expected = load_expected("marian");
  LargestError largest("largest_error_" + name);
  for (const core::Json& c : expected.at(name)) {
    auto source = c["source"].get<std::vector<std::int32_t>>();
    const auto found = model.log_probabilities(source, c["target"].get<std::vector<std::int32_t>>());
    const auto wanted = c["log_probabilities"].get<std::vector<double>>();
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], wanted[i], tolerance) << name << ' ' << i;
      largest.add(found[i], wanted[i]);
    }
    if (tolerance > 1e-4) continue;
    auto ids = model.loaded().source_tokenizer->encode(c["line"].get<std::string>());
    ids.push_back(model.loaded().config.sequences.end);
    EXPECT_EQ(ids, source);
    EXPECT_EQ(model.greedy(c["line"].get<std::string>(), static_cast<std::int32_t>(2 * source.size() + 10)),
              c["text"].get<std::string>());
  }
}

TEST(Marian, ComputesWhatItsFormulasSay) {
  plugins::Host host;
  expect_agreement(ImportedModel(host, marian_golden("opus")), "opus", 3e-5);
  expect_agreement(ImportedModel(host, marian_golden("untied")), "untied", 3e-5);
}

TEST(Marian, BinaryFilesHoldTheSameModel) {
  plugins::Host host;
  const ImportedModel npz(host, marian_golden("opus"));
  const ImportedModel binary(host, marian_golden("opus/binary/model.bin"), opus_files());
  EXPECT_TRUE(core::read_file(npz.folder() / "model.safetensors") ==
              core::read_file(binary.folder() / "model.safetensors"));
  // 1/2048 of a unit is the rounding of each weight.
  expect_agreement(ImportedModel(host, marian_golden("opus/int16/model.bin"), opus_files()), "opus", 0.03);
}

TEST(Marian, SearchesAsItsConfigurationSays) {
  plugins::Host host;
  const ImportedModel model(host, marian_golden("opus/decoder.yml"));
  EXPECT_EQ(model.loaded().config.decoding,
            (core::Json{{"suppress_unknown", true}, {"beam_size", 6}, {"length_penalty", "marian"}, {"alpha", 1.0}}));
  EXPECT_EQ(model.loaded().target_tokenizer->id(">>deu<<"), model.loaded().config.sequences.decoder_start - 4);
  for (const char* piece : {"\"", "~", "12"}) EXPECT_TRUE(model.loaded().target_tokenizer->id(piece)) << piece;
}

/// The start token that the files do not have.
TEST(Marian, DecodersStartFromZerosAndNeverWriteThem) {
  plugins::Host host;
  const ImportedModel model(host, marian_golden("opus"));
  const auto& parameters = model.loaded().model->parameters();
  const tensor::Tensor& table = parameters.find("embedding.weight")->value;
  EXPECT_EQ(model.loaded().config.sequences.decoder_start, table.rows - 1);
  for (std::int64_t col = 0; col < table.cols; ++col) EXPECT_EQ(table.row<float>(table.rows - 1)[col], 0);
  const auto start = static_cast<std::int32_t>(table.rows - 1);
  EXPECT_LT(model.log_probabilities({2, 3, 0}, {start}).front(), -5000);
}

class ChangedMarian : public ::testing::Test {
 protected:
  ChangedMarian() {
    std::filesystem::copy(marian_golden("opus"), folder_, std::filesystem::copy_options::recursive);
    std::filesystem::remove_all(folder_ / "int16");
    std::filesystem::rename(folder_ / "binary/model.bin", folder_ / "model.bin");
    std::filesystem::remove(folder_ / "model.npz");
    std::filesystem::remove(folder_ / "decoder.yml");
  }
  std::string error_of_import() {
    return error_of([&] { plugins::import_model(folder_, scratch_ / "imported", host_); });
  }
  /// Puts another text of the same length into the model's configuration.
  std::string error_with(const std::string& from, const std::string& to) {
    const std::string whole = core::read_file(folder_ / "model.bin");
    const std::size_t place = whole.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    EXPECT_EQ(from.size(), to.size());
    core::write_file(folder_ / "model.bin", std::string(whole).replace(place, to.size(), to));
    const std::string error = error_of_import();
    core::write_file(folder_ / "model.bin", whole);
    return error;
  }

  testing::TemporaryFolder scratch_;
  std::filesystem::path folder_ = scratch_ / "model";
  plugins::Host host_;
};

TEST_F(ChangedMarian, IsRefusedByName) {
  EXPECT_EQ(error_of_import(), "no error");
  EXPECT_THAT(error_with("type: transformer\n", "type: s2s        \n"), HasSubstr("type: is 's2s'"));
  EXPECT_THAT(error_with("activation: swish\ntransformer-ffn-depth", "activation: gelu \ntransformer-ffn-depth"),
              HasSubstr("sigmoid(1.702 x)"));
  EXPECT_THAT(error_with("transformer-ffn-depth: 2", "transformer-ffn-depth: 3"), HasSubstr("of two matrices"));
  EXPECT_THAT(error_with("transformer-postprocess: dan", "transformer-postprocess: dhn"), HasSubstr("'hn'"));
  EXPECT_THAT(error_with("right-left: false", "right-left: true "), HasSubstr("right-left"));
  EXPECT_THAT(error_with("dec-depth: 2", "dec-depth: 1"), HasSubstr("of no use in such a model: 'decoder_l2"));
  EXPECT_THAT(error_with("dec-depth: 2", "dec-depth: 3"), HasSubstr("missing: 'decoder_l3"));
  EXPECT_THAT(error_with("transformer-dim-ffn: 12", "transformer-dim-ffn: 13"), HasSubstr("of another shape"));
  EXPECT_THAT(error_with("autoreg: self-attention", "autoreg: average-attent"), HasSubstr("self-attention and rnn"));
}

TEST_F(ChangedMarian, SaysWhereItIsDamaged) {
  const std::string whole = core::read_file(folder_ / "model.bin");
  core::write_file(folder_ / "model.bin", whole.substr(0, whole.size() - 600));
  EXPECT_THAT(error_of_import(), HasSubstr("would end behind the file's"));
  const std::string float32("\x04\x04\0\0", 4);
  std::string packed = whole;
  packed.replace(packed.find(float32), 4, std::string("\x01\x18\0\0", 4));
  core::write_file(folder_ / "model.bin", packed);
  EXPECT_THAT(error_of_import(), HasSubstr("packed for the products of one kind of processor (type 0x1801)"));
  std::string none(16, '\0');
  none.front() = 1;
  core::write_file(folder_ / "model.bin", none);
  EXPECT_THAT(error_of([&] { MarianFile::open(folder_ / "model.bin"); }), HasSubstr("no arrays at all"));
}

TEST_F(ChangedMarian, StaysInTheFolderWhateverItsConfigurationSays) {
  std::filesystem::rename(folder_ / "opus.vocab.yml", scratch_ / "elsewhere.yml");
  for (const std::string& name : {std::string("../elsewhere.yml"), (scratch_ / "elsewhere.yml").string()}) {
    core::write_file(folder_ / "decoder.yml", "models: [model.bin]\nvocabs: [" + name + ", " + name + "]\n");
    EXPECT_THAT(error_of_import(), HasSubstr("there is no file '" + name + "' beside it"));
  }
}

TEST_F(ChangedMarian, NamesTheKeyOfASearchThatMakesNoSense) {
  const auto error_with = [&](const std::string& line) {
    core::write_file(folder_ / "decoder.yml",
                     "models: [model.bin]\nvocabs: [opus.vocab.yml, opus.vocab.yml]\n" + line + "\n");
    return error_of_import();
  };
  for (const char* beam : {"0", "-1", "1e99", "129", "1.5", "many"})
    EXPECT_THAT(error_with(std::string("beam-size: ") + beam), HasSubstr("decoder.yml: beam-size: is ")) << beam;
  for (const char* normalize : {"-1", ".nan", ".inf", "1e99"})
    EXPECT_THAT(error_with(std::string("normalize: ") + normalize), HasSubstr("normalize")) << normalize;
  std::filesystem::remove(folder_ / "decoder.yml");
  std::filesystem::create_symlink("nowhere", folder_ / "decoder.yml");
  EXPECT_THAT(error_of_import(),
              HasSubstr("decoder.yml: is no file, but a folder, a pipe, or a link that leads nowhere"));
}

TEST(Marian, AnArchiveIsComparedWithItsSums) {
  plugins::Host host;
  testing::TemporaryFolder scratch;
  std::filesystem::copy(marian_golden("untied"), scratch / "model");
  std::filesystem::path archive;
  for (const auto& file : std::filesystem::directory_iterator(scratch / "model"))
    if (file.path().extension() == ".npz") archive = file.path();
  std::fstream file(archive, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::size_t place = bytes.find("Wemb") + 300;
  file.seekp(static_cast<std::streamoff>(place)).put(static_cast<char>(bytes[place] ^ 1));
  file.close();
  EXPECT_THAT(error_of([&] { plugins::import_model(scratch / "model", scratch / "imported", host); }),
              HasSubstr("damaged"));
}

TEST_F(ChangedMarian, VocabulariesMustFit) {
  std::string list = core::read_file(folder_ / "opus.vocab.yml");
  core::write_file(folder_ / "opus.vocab.yml", list + "\"more\": 500\n");
  EXPECT_THAT(error_of_import(), HasSubstr("'more' has the id 500"));
  core::write_file(folder_ / "opus.vocab.yml", std::regex_replace(list, std::regex("</s>"), "</e>"));
  EXPECT_THAT(error_of_import(), HasSubstr("has no piece '</s>', the model's end"));
  std::filesystem::remove(folder_ / "opus.vocab.yml");
  EXPECT_THAT(error_of_import(), ::testing::AnyOf(HasSubstr("are different vocabularies"), HasSubstr("was it cut")))
      << "those of the cutters are none";
}

/// Pieces that change their ids change the rows of the table that they have.
TEST(Marian, SpecialTokensBelongToASide) {
  plugins::Host host;
  const ImportedModel before(host, marian_golden("untied"));
  testing::TemporaryFolder scratch;
  std::filesystem::copy(marian_golden("untied"), scratch / "model");
  std::string list = core::read_file(scratch / "model/source.vocab.yml");
  for (const auto& [from, to] : {std::pair("</s>: 0\n", "</s>: 4\n"),
                                 {"<unk>: 1\n", "<unk>: 2\n"},
                                 {"\na: 2\n", "\na: 1\n"},
                                 {"bike: 4\n", "bike: 0\n"}}) {
    const std::size_t place = list.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    list.replace(place, std::string_view(from).size(), to);
  }
  core::write_file(scratch / "model/source.vocab.yml", list);
  const ImportedModel after(host, scratch / "model");
  const tokenizer::Tokenizer& source = *after.loaded().source_tokenizer;
  EXPECT_EQ(source.piece(after.loaded().config.sequences.end), "</s>");
  EXPECT_EQ(source.piece(after.loaded().config.sequences.unknown), "<unk>");
  auto ids = source.encode("and bike nothing a");
  ids.push_back(after.loaded().config.sequences.end);
  EXPECT_EQ(after.log_probabilities(ids, {5, 9, 2}), before.log_probabilities({3, 0, 2, 1, 4}, {5, 9, 2}));
}

}  // namespace
}  // namespace dragoman::imports
