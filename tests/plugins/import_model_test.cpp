#include "dragoman/plugins/import_model.h"

#include "error_message.h"
#include "planted_file.h"
#include "program.h"
#include "test_data.h"

#include <regex>

#include <gmock/gmock.h>

#include <dragoman/core/file.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::plugins {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::run_dragoman;

/// The importer of examples/plugin and its example: a Transformer of width 4.
class ImportModel : public ::testing::Test {
 protected:
  ImportModel() {
    host_.loader().load(planted_file("arrays"));
    std::filesystem::create_directory(arrays_);
    host_.registry().model_importers().get("numpy-arrays").write_example(arrays_);
  }

  void import(const ImportOptions& options = {}) { import_model(arrays_, imported_, host_, options); }
  std::string error_of_import(const ImportOptions& options = {}) {
    return error_of([&] { import(options); });
  }
  /// The values of a tensor of the imported folder.
  std::vector<float> values_of(const std::string& name) const {
    const auto file = formats::SafetensorsFile::open(imported_ / "model.safetensors");
    std::vector<float> values(static_cast<std::size_t>(file.find(name)->size));
    const auto count = static_cast<std::int64_t>(values.size());
    file.read(*file.find(name), {values.data(), 1, count, count, tensor::DType::kF32, tensor::Device::kCpu});
    return values;
  }

  /// The same bytes as arrays of the turned matrices, but for the embedding.
  void turn_weights() const {
    static const std::regex kShape(R"(False, 'shape': \((\d+), (\d+)\))");
    for (const auto& file : std::filesystem::directory_iterator(arrays_)) {
      if (file.path().extension() != ".npy" || file.path().stem() == "embedding.weight") continue;
      const std::string content = core::read_file(file.path());
      core::write_file(file.path(), std::regex_replace(content.substr(0, 128), kShape, "True,  'shape': ($2, $1)") +
                                        content.substr(128));
    }
  }

  testing::TemporaryFolder folder_;
  std::filesystem::path arrays_ = folder_ / "arrays";
  std::filesystem::path imported_ = folder_ / "imported";
  Host host_;
};

constexpr const char* kSquare = "encoder.layers.0.self_attention.out.weight";

/// tests/plugins/data: numpy 2.4.6,
///   np.save('c_order.npy', (np.arange(16, dtype='<f4') / 8).reshape(4, 4))
///   np.save('fortran_order.npy', np.asfortranarray((np.arange(16, dtype='<f8') / 8).reshape(4, 4)))
TEST_F(ImportModel, ReadsWhatNumpyHasWritten) {
  for (const std::string name : {"c_order.npy", "fortran_order.npy"}) {
    std::filesystem::copy_file(testing::source_folder() / "tests/plugins/data" / name,
                               arrays_ / (std::string(kSquare) + ".npy"),
                               std::filesystem::copy_options::overwrite_existing);
    import();
    const std::vector<float> values = values_of(kSquare);
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(values[i], static_cast<float>(i) / 8) << name << ' ' << i;
  }
}

TEST_F(ImportModel, TurnsTheWeightsOfLinearLayersIfToldTo) {
  import();
  const std::string weights = core::read_file(imported_ / "model.safetensors");
  turn_weights();
  EXPECT_THAT(error_of_import(), HasSubstr("of the shape [4, 12], the configuration says [12, 4]"));
  import({.options = { { "transpose", true } }});
  EXPECT_TRUE(core::read_file(imported_ / "model.safetensors") == weights);
}

TEST_F(ImportModel, MakesAModelFolderThatTranslates) {
  import();
  EXPECT_FALSE(formats::verify_checksums(imported_).empty());
  const LoadedModel loaded = load_model(imported_, host_);
  EXPECT_EQ(loaded.config.model_type, "transformer");
  EXPECT_EQ(loaded.source_tokenizer->size(), 10);
  import();
  EXPECT_EQ(find_importer(host_.registry(), imported_), nullptr) << "a model folder is no foreign model";
}

TEST_F(ImportModel, SaysWhatIsMissingTooMuchOrOfAnotherShape) {
  const auto file = [&](const std::string& name) { return arrays_ / (name + ".npy"); };
  std::filesystem::copy_file(file(kSquare), file("another"));
  EXPECT_THAT(error_of_import(), HasSubstr("1 arrays are of no parameter, 'another.npy'"));
  std::filesystem::remove(file("another"));
  std::filesystem::rename(file(kSquare), folder_ / "aside");
  EXPECT_THAT(error_of_import(), HasSubstr(std::string(kSquare) + ".npy: is missing"));
  std::filesystem::copy_file(file("encoder.layers.0.self_attention.out.bias"), file(kSquare));
  EXPECT_THAT(error_of_import(), HasSubstr("is of the shape [4], the configuration says [4, 4]"));
  std::string whole = core::read_file(folder_ / "aside");
  core::write_file(file(kSquare), whole.substr(0, whole.size() - 1));
  EXPECT_THAT(error_of_import(), HasSubstr("bytes where its header says"));
  whole.replace(whole.find("<f4"), 3, "<i4");
  core::write_file(file(kSquare), whole);
  EXPECT_THAT(error_of_import(), HasSubstr("float32 or float64"));
  EXPECT_FALSE(std::filesystem::exists(imported_)) << "nothing is left of a model that was refused";
}

TEST_F(ImportModel, RefusesWeightsThatAreNotFinite) {
  std::string bias = core::read_file(arrays_ / "encoder.layers.0.self_attention.out.bias.npy");
  bias.replace(bias.size() - 4, 4, std::string("\0\0\xC0\x7F", 4));
  core::write_file(arrays_ / "encoder.layers.0.self_attention.out.bias.npy", bias);
  EXPECT_THAT(error_of_import(), HasSubstr("self_attention.out.bias"));
}

TEST_F(ImportModel, ReplacesNothingButAModelFolder) {
  EXPECT_THAT(error_of([&] { import_model(arrays_, arrays_, host_); }), HasSubstr("is the input"));
  EXPECT_THAT(error_of([&] { import_model(arrays_, folder_.path(), host_); }), HasSubstr("holds the input"));
  import();
  EXPECT_THAT(error_of([&] { import_model(imported_, folder_ / "again", host_); }),
              HasSubstr("is a model folder already"));
  std::filesystem::remove_all(imported_);
  std::filesystem::create_directory(imported_);
  core::write_file(imported_ / "thesis.tex", "years of work");
  EXPECT_THAT(error_of_import(), HasSubstr("imported"));
  EXPECT_EQ(core::read_file(imported_ / "thesis.tex"), "years of work");
}

TEST_F(ImportModel, SaysWhoCouldImportIt) {
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_THAT(error_of([&] { import_model(folder_ / "empty", imported_, host_); }),
              HasSubstr("no importer recognises"));
  const testing::TemporaryFolder elsewhere;
  EXPECT_THAT(error_of([&] { import_model(folder_.path(), elsewhere / "imported", host_); }),
              HasSubstr("arrays; name that"));
  EXPECT_THAT(error_of_import({.importer = "numpy-array"}), HasSubstr("did you mean 'numpy-arrays'"));
  EXPECT_THAT(error_of_import({.options = {{"transposed", true}}}), HasSubstr("did you mean 'transpose'"));
  Registrar registrar;
  ModelImporterEntry greedy = host_.registry().model_importers().get("numpy-arrays");
  greedy.name = "greedy";
  registrar.add(greedy);
  host_.registry().add("guest", registrar.take());
  EXPECT_THAT(error_of_import(), HasSubstr("several importers: numpy-arrays, greedy; name one"));
  EXPECT_EQ(error_of_import({.importer = "greedy"}), "no error");
}

TEST_F(ImportModel, IsACommand) {
  const std::string plugin = " --plugin " + planted_file("arrays");
  const Outcome made = run_dragoman(folder_.path(), "convert arrays -o made" + plugin);
  ASSERT_EQ(made.status, 0) << made.error;
  core::write_file(folder_ / "text", "the tea\n");
  EXPECT_EQ(run_dragoman(folder_.path(), "translate -m made text").status, 0);
  turn_weights();
  const Outcome named = run_dragoman(
      folder_.path(), "convert arrays -o turned --from numpy-arrays --import-options transpose=true" + plugin);
  EXPECT_EQ(named.status, 0) << named.error;
  EXPECT_TRUE(core::read_file(folder_ / "made/model.safetensors") ==
              core::read_file(folder_ / "turned/model.safetensors"));
  EXPECT_THAT(run_dragoman(folder_.path(), "convert arrays -o made").error, HasSubstr("no importer recognises"));
  EXPECT_EQ(run_dragoman(folder_.path(), "convert arrays -o made --to gpt2" + plugin).status, 2);
  EXPECT_EQ(run_dragoman(folder_.path(), "convert arrays -o arrays" + plugin).status, 2);
  EXPECT_THAT(run_dragoman(folder_.path(), "plugins list" + plugin).output, HasSubstr("model importer"));
}

}  // namespace
}  // namespace dragoman::plugins
