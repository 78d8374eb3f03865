#include "dragoman/formats/average.h"

#include "folder_test_support.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/formats/checksums.h>

namespace dragoman::formats {
namespace {

using dragoman::testing::TemporaryFolder;
using tensor::Device;
using tensor::DType;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_model;
using testing::write_model;

void write_tensors(const std::filesystem::path& path, std::vector<std::pair<TensorSpec, std::vector<double>>> tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [spec, values] : tensors) specs.push_back(spec);
  SafetensorsWriter writer(path, specs, {{"from", path.filename().string()}});
  for (auto& [spec, values] : tensors) {
    const auto n = static_cast<std::int64_t>(values.size());
    writer.write({values.data(), 1, n, n, DType::kF64, Device::kCpu});
  }
  writer.finish();
}

std::vector<double> read_values(const std::filesystem::path& path, const std::string& name) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  const StoredTensor* stored = file.find(name);
  std::vector<double> values(static_cast<std::size_t>(stored->size));
  file.read(*stored, {values.data(), 1, stored->size, stored->size, DType::kF64, Device::kCpu});
  return values;
}

TEST(AverageParameters, IsTheMeanOfEveryElement) {
  const TemporaryFolder folder;
  write_tensors(folder / "a", {{{"x", DType::kF32, {2, 1}}, {1, -4}}, {{"y", DType::kF32, {1}}, {0.5}}});
  write_tensors(folder / "b", {{{"y", DType::kF32, {1}}, {1.5}}, {{"x", DType::kF32, {2, 1}}, {2, 4}}});
  write_tensors(folder / "c", {{{"x", DType::kF32, {2, 1}}, {6, 6}}, {{"y", DType::kF32, {1}}, {4}}});
  average_parameters({folder / "a", folder / "b", folder / "c"}, folder / "mean");
  EXPECT_THAT(read_values(folder / "mean", "x"), ElementsAre(3, 2));
  EXPECT_THAT(read_values(folder / "mean", "y"), ElementsAre(2));
  EXPECT_EQ(SafetensorsFile::open(folder / "mean").metadata().at("from"), "a");
  EXPECT_EQ(SafetensorsFile::open(folder / "mean").find("x")->shape, (std::vector<std::int64_t>{2, 1}));
}

// In single precision 1e8 + 1 is 1e8, and the small terms would be lost.
TEST(AverageParameters, SumsInDoublePrecision) {
  const TemporaryFolder folder;
  const std::vector<double> terms{1e8, 3, -1e8, 1};
  std::vector<std::filesystem::path> files;
  for (const double term : terms) {
    files.push_back(folder / std::to_string(files.size()));
    write_tensors(files.back(), {{{"x", DType::kF32, {1}}, {term}}});
  }
  average_parameters(files, folder / "mean");
  EXPECT_THAT(read_values(folder / "mean", "x"), ElementsAre(1));
}

TEST(AverageParameters, LargeTensorsAndMixedTypesKeepTheirPlaces) {
  const TemporaryFolder folder;
  std::vector<double> a(150001);
  std::vector<double> b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i), b[i] = static_cast<double>(3 * i + 2);
  const auto n = static_cast<std::int64_t>(a.size());
  write_tensors(folder / "a", {{{"w", DType::kF32, {n}}, a}, {{"h", DType::kF16, {1}}, {0.25}}});
  write_tensors(folder / "b", {{{"w", DType::kF32, {n}}, b}, {{"h", DType::kF16, {1}}, {0.75}}});
  average_parameters({folder / "a", folder / "b"}, folder / "mean");
  const std::vector<double> mean = read_values(folder / "mean", "w");
  for (std::size_t i = 0; i < mean.size(); ++i) ASSERT_EQ(mean[i], static_cast<double>(2 * i + 1));
  EXPECT_THAT(read_values(folder / "mean", "h"), ElementsAre(0.5));
  EXPECT_EQ(SafetensorsFile::open(folder / "mean").find("h")->type, "F16");
}

TEST(AverageParameters, RefusesWhatDoesNotBelongTogether) {
  const TemporaryFolder folder;
  write_tensors(folder / "a", {{{"x", DType::kF32, {1}}, {1}}});
  write_tensors(folder / "b", {{{"x", DType::kF32, {1, 1}}, {1}}});
  write_tensors(folder / "c", {{{"x", DType::kF32, {1}}, {1}}, {{"y", DType::kF32, {1}}, {1}}});
  const auto error = [&](const char* first, const char* second) {
    return error_of([&] { average_parameters({folder / first, folder / second}, folder / "mean"); });
  };
  EXPECT_THAT(error("a", "b"), HasSubstr("b: the tensor 'x' has the shape [1, 1], but [1] in"));
  EXPECT_THAT(error("a", "c"), HasSubstr("c: has the tensor 'y', which"));
  EXPECT_THAT(error("c", "a"), HasSubstr("a: lacks the tensor 'y', which"));
  EXPECT_THAT(error_of([&] { average_parameters({}, folder / "mean"); }), HasSubstr("nothing to average"));
  EXPECT_FALSE(std::filesystem::exists(folder / "mean"));
}

TEST(AverageParameters, RefusesValuesThatAreNotFiniteAndMeansThatOverflow) {
  constexpr double kMax = std::numeric_limits<double>::max();
  const TemporaryFolder folder;
  write_tensors(folder / "a", {{{"x", DType::kF64, {2}}, {1, kMax}}});
  write_tensors(folder / "nan", {{{"x", DType::kF64, {2}}, {1, std::numeric_limits<double>::quiet_NaN()}}});
  const auto error = [&](const char* other) {
    return error_of([&] { average_parameters({folder / "a", folder / other}, folder / "mean"); });
  };
  EXPECT_THAT(error("nan"), HasSubstr("nan: the value 1 of the tensor 'x' is nan; the file is damaged"));
  EXPECT_THAT(error("a"), HasSubstr("a: the mean of 'x' is no finite number: values of the models are too large"));
  EXPECT_FALSE(std::filesystem::exists(folder / "mean"));
}

TEST(AverageModels, MakesAModelThatSaysWhatItIs) {
  const TemporaryFolder folder;
  const auto one = make_model(1);
  const auto two = make_model(2);
  write_model(folder / "one", *one);
  write_model(folder / "two", *two, "Another card.\n");
  average_models({folder / "one", folder / "two"}, folder / "mean");
  EXPECT_NO_THROW(verify_checksums(folder / "mean"));
  EXPECT_EQ(ModelFolder::open(folder / "mean").config().model_type, "paper");
  const std::string card = core::read_file(folder / "mean" / "README.md");
  EXPECT_THAT(card, AllOf(HasSubstr("A card."), HasSubstr("the mean of 2 models"), HasSubstr("- one\n- two\n")));
  const std::vector<double> mean = read_values(folder / "mean" / "model.safetensors", "bias");
  for (std::int64_t j = 0; j < 2; ++j) {
    const double expected = (tensor::element(one->parameters().all()[1].value, 0, j) +
                             tensor::element(two->parameters().all()[1].value, 0, j)) /
                            2;
    EXPECT_EQ(mean[static_cast<std::size_t>(j)], static_cast<double>(static_cast<float>(expected)));
  }
}

TEST(AverageModels, DoesNotVouchForWhatIsDamaged) {
  const TemporaryFolder folder;
  for (const char* name : {"one", "two"}) write_model(folder / name, *make_model(1));
  const std::filesystem::path weights = folder / "two/model.safetensors";
  const std::string whole = core::read_file(weights);
  std::string changed = whole;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  core::write_file(weights, changed);
  const auto average = [&] { average_models({folder / "one", folder / "two"}, folder / "mean"); };
  EXPECT_THAT(error_of(average), HasSubstr("damaged or was changed"));
  changed.replace(whole.size() - 4, 4, std::string("\0\0\x80\x7F", 4));
  core::write_file(weights, changed);
  std::filesystem::remove(folder / "two/SHA256SUMS");
  EXPECT_THAT(error_of(average), HasSubstr("two/model.safetensors: the value 1 of the tensor 'bias' is inf"));
  EXPECT_FALSE(std::filesystem::exists(folder / "mean"));
}

TEST(AverageModels, KeepsATokenizerThatItCannotOpen) {
  const TemporaryFolder folder;
  const tokenizer::TokenizerSpec stored{.type = "letters", .plugin = "good"};
  for (const char* name : {"one", "two"}) {
    const auto model = make_model(name == std::string("one") ? 1 : 2);
    write_model_folder(folder / name,
                       {.model_type = "paper", .model = model.get(), .tokenizer = stored.with_content("ab")});
  }
  average_models({folder / "one", folder / "two"}, folder / "mean");
  EXPECT_NO_THROW(verify_checksums(folder / "mean"));
  EXPECT_EQ(core::read_file(folder / "mean" / "tokenizer.model"), "ab");
  EXPECT_EQ(ModelFolder::open(folder / "mean").config().tokenizers->source, stored);
  core::write_file(folder / "two" / "tokenizer.model", "ba");
  EXPECT_THAT(error_of([&] {
                average_models({folder / "one", folder / "two"}, folder / "mean");
              }),
              HasSubstr("tokenizer.model is not the same"));
}

TEST(AverageModels, MayReplaceOneOfItsInputs) {
  const TemporaryFolder folder;
  write_model(folder / "one", *make_model(1));
  write_model(folder / "two", *make_model(2));
  average_models({folder / "one", folder / "two"}, folder / "expected");
  average_models({folder / "one", folder / "two"}, folder / "one");
  EXPECT_EQ(core::read_file(folder / "one" / "model.safetensors"),
            core::read_file(folder / "expected" / "model.safetensors"));
}

/// The new model is made under these names, and what a killed process left there is cleared away.
TEST(AverageModels, NeverClearsAnInputAway) {
  const TemporaryFolder folder;
  for (const char* name : {"mean.partial", "mean.replaced"}) {
    write_model(folder / name, *make_model(1));
    for (const char* output : {"mean", "mean/", "./mean"})
      EXPECT_THAT(error_of([&] { average_models({folder / name}, folder / output); }),
                  HasSubstr("has the name of the input"));
    EXPECT_NO_THROW(verify_checksums(folder / name));
    std::filesystem::remove_all(folder / name);
  }
  write_model(folder / "one", *make_model(1));
  std::filesystem::copy(folder / "one" / "model.safetensors", folder / "mean.safetensors.partial");
  const std::string bytes = core::read_file(folder / "mean.safetensors.partial");
  EXPECT_THAT(error_of([&] { average_parameters({folder / "mean.safetensors.partial"}, folder / "mean.safetensors"); }),
              HasSubstr("has the name of the input"));
  EXPECT_EQ(core::read_file(folder / "mean.safetensors.partial"), bytes);
}

TEST(AverageModels, RefusesOtherArchitecturesAndVocabularies) {
  const TemporaryFolder folder;
  write_model(folder / "a", *make_model(1));
  write_model(folder / "wide", *make_model(1, 5, 3));
  write_model(folder / "letters", *make_model(1), "", "xy");
  EXPECT_THAT(error_of([&] {
                average_models({folder / "a", folder / "wide"}, folder / "mean");
              }),
              HasSubstr("wide: config.json says something else than in"));
  EXPECT_THAT(error_of([&] {
                average_models({folder / "a", folder / "letters"}, folder / "mean");
              }),
              HasSubstr("letters: tokenizer.json is not the same as in"));
  EXPECT_FALSE(std::filesystem::exists(folder / "mean"));
}

}  // namespace
}  // namespace dragoman::formats
