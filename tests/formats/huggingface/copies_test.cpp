#include "error_message.h"
#include "golden_cases.h"
#include "test_data.h"

#include <gmock/gmock.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::Json;
using testing::error_of;
using ::testing::HasSubstr;

std::filesystem::path folder_of_family(const std::string& family) {
  return testing::golden_file("huggingface") / family;
}

/// A tensor of a file, and what it is to be called.
struct CopiedTensor {
  formats::TensorSpec spec;
  std::vector<float> values;
};

CopiedTensor read(const formats::SafetensorsFile& file, const std::string& name, const std::string& as,
                  std::int64_t by) {
  const auto stored = std::ranges::find(file.tensors(), name, &formats::StoredTensor::name);
  const std::int64_t rows = stored->shape.front();
  const std::int64_t width = stored->shape.size() == 2 ? stored->shape.back() : 1;
  CopiedTensor read{{.name = as, .shape = stored->shape}, std::vector<float>(static_cast<std::size_t>(rows * width))};
  file.read(*stored, 0, {read.values.data(), rows, width, width, tensor::DType::kF32, tensor::Device::kCpu});
  std::rotate(read.values.begin(), read.values.begin() + by * width, read.values.end());
  return read;
}

/// A copy of a family's folder with other keys in config.json, and with copies of tables whose rows have moved.
std::filesystem::path folder_with(const testing::TemporaryFolder& scratch, const std::string& family,
                                  const Json& config, const Json& copies) {
  const std::filesystem::path folder = scratch / "foreign";
  std::filesystem::copy(folder_of_family(family), folder);
  std::filesystem::remove(folder / "expected.json");
  Json json = core::load_json((folder / "config.json").string());
  json.update(config);
  core::write_file(folder / "config.json", json.dump());
  if (copies.empty()) return folder;
  const auto file = formats::SafetensorsFile::open(folder_of_family(family) / "model.safetensors");
  std::vector<CopiedTensor> tensors;
  for (const formats::StoredTensor& stored : file.tensors()) tensors.push_back(read(file, stored.name, stored.name, 0));
  for (const auto& [name, of] : copies.items()) tensors.push_back(read(file, of[0].get<std::string>(), name, of[1]));
  std::vector<formats::TensorSpec> specs;
  for (const CopiedTensor& tensor : tensors) specs.push_back(tensor.spec);
  std::filesystem::remove(folder / "model.safetensors");
  formats::SafetensorsWriter writer(folder / "model.safetensors", specs, {{"format", "pt"}});
  for (CopiedTensor& tensor : tensors) {
    const std::int64_t rows = tensor.spec.shape.front();
    const auto width = static_cast<std::int64_t>(tensor.values.size()) / rows;
    writer.write({tensor.values.data(), rows, width, width, tensor::DType::kF32, tensor::Device::kCpu});
  }
  writer.finish();
  return folder;
}

TEST(CopiesOfTables, AreUsedAsTransformersUsesThem) {
  plugins::Host host;
  int cases = 0;
  for (const Json& wanted : core::load_json(testing::golden_file("copies.json").string())) {
    const std::string what = wanted["family"].get<std::string>() + wanted["config"].dump() + wanted["copies"].dump();
    const testing::TemporaryFolder scratch;
    const ImportedModel model(host, folder_with(scratch, wanted["family"], wanted["config"], wanted["copies"]));
    const Json lines = load_expected("huggingface/" + wanted["family"].get<std::string>())["lines"];
    for (std::size_t i = 0; i < wanted["log_probabilities"].size(); ++i) {
      const auto found = model.log_probabilities(lines[i]["source_ids"].get<std::vector<std::int32_t>>(),
                                                 lines[i]["target_ids"].get<std::vector<std::int32_t>>());
      const auto expected = wanted["log_probabilities"][i].get<std::vector<double>>();
      ASSERT_EQ(found.size(), expected.size()) << what;
      for (std::size_t t = 0; t < found.size(); ++t) EXPECT_NEAR(found[t], expected[t], 2e-4) << what << ' ' << t;
    }
    ++cases;
  }
  EXPECT_EQ(cases, 15);
}

TEST(CopiesOfTables, AreNamedWhereAModelHereCannotHaveThem) {
  plugins::Host host;
  for (const char* side : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}) {
    const testing::TemporaryFolder scratch;
    const auto folder = folder_with(scratch, "t5", Json::object(), {{side, {"shared.weight", 1}}});
    EXPECT_THAT(error_of([&] { plugins::import_model(folder, scratch / "imported", host); }),
                ::testing::AllOf(HasSubstr(side), HasSubstr("shared.weight"), HasSubstr("differ")));
  }
}

}  // namespace
}  // namespace dragoman::imports
