#include "dragoman/pipeline/model_verification.h"

#include "error_message.h"
#include "test_data.h"

#include <gmock/gmock.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/model_reference.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/quantize_model.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A folder that an importer made, and what it was made of.
class ModelVerificationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(foreign_);
    host_.registry().model_importers().get("huggingface").write_example(foreign_);
    plugins::import_model(foreign_, imported_, host_);
  }

  ModelVerification verify(std::optional<tensor::ComputeChoice> compute = {}) {
    return verify_model(imported_, host_, {.compute = compute, .threads = 1});
  }
  std::filesystem::path reference() const { return imported_ / "reference.json"; }
  Json reference_json() const { return core::load_json(reference().string()); }

  /// Adds to one value of a tensor of the folder's weights.
  void change_weight(const std::string& name, float by) const {
    const std::filesystem::path file = imported_ / "model.safetensors";
    std::string bytes = core::read_file(file);
    const auto place = formats::SafetensorsFile::open(file).find(name)->offset;
    float value = 0;
    std::memcpy(&value, bytes.data() + place, sizeof value);
    value += by;
    std::memcpy(bytes.data() + place, &value, sizeof value);
    core::write_file(file, bytes);
  }

  plugins::Host host_;
  testing::TemporaryFolder folder_;
  std::filesystem::path foreign_ = folder_ / "foreign";
  std::filesystem::path imported_ = folder_ / "imported";
};

TEST_F(ModelVerificationTest, FindsAnImportAsItWasInEachNumberType) {
  for (const auto& [name, choice] : tensor::kComputeChoices) {
    if (choice == tensor::ComputeChoice::kF16) continue;  // which the CPU does not have
    const ModelVerification verified = verify(choice);
    EXPECT_THAT(verified.faults, IsEmpty()) << name;
    EXPECT_EQ(verified.against, "reference.json");
    EXPECT_EQ(verified.sentences, 4U);
    EXPECT_GT(verified.tokens, 20U);
    EXPECT_THAT(verified.changed_weights, IsEmpty());
    EXPECT_GT(verified.compared_weights, 20U);
    // Rounding is seen, and exactness.
    if (choice == tensor::ComputeChoice::kF32) {
      EXPECT_LT(verified.mean_error, 1e-5);
    } else if (choice != tensor::ComputeChoice::kAuto) {
      EXPECT_GT(verified.largest_error, 1e-5) << name;
    }
  }
}

TEST_F(ModelVerificationTest, NamesAWeightThatIsAnotherInItsLastBit) {
  change_weight("encoder.layers.0.feed_forward.in.weight", 1e-7F);
  const ModelVerification verified = verify();
  EXPECT_THAT(verified.changed_weights, ElementsAre("encoder.layers.0.feed_forward.in.weight"));
  EXPECT_THAT(verified.faults, ElementsAre(HasSubstr("weights have other values than those that were imported: "
                                                     "encoder.layers.0.feed_forward.in.weight")));
}

TEST_F(ModelVerificationTest, SeesInProbabilitiesWhatFingerprintsDoNotSay) {
  change_weight("decoder.layers.0.feed_forward.out.bias", 1.0F);
  Json json = reference_json();
  json["weights"] = Json::object();
  core::write_file(reference(), json.dump());
  const ModelVerification verified = verify();
  EXPECT_EQ(verified.compared_weights, 0U);
  EXPECT_THAT(verified.faults, ::testing::Contains(HasSubstr("log probabilities are off by")));
  EXPECT_GT(verified.largest_error, verified.bounds.largest);
}

TEST_F(ModelVerificationTest, SeesAGreedyTranslationThatPartsWhereTheBestTokenLeads) {
  Json json = reference_json();
  Json& sentence = json["sentences"][1];
  sentence["greedy"][0] = sentence["greedy"][0] == 5 ? 6 : 5;
  sentence["margins"][0] = 3;
  core::write_file(reference(), json.dump());
  EXPECT_THAT(verify().faults, ElementsAre(HasSubstr("sentence 1 parts from the reference at token 0")));
  sentence["margins"][0] = 1e-4;
  core::write_file(reference(), json.dump());
  const ModelVerification verified = verify();
  EXPECT_THAT(verified.faults, IsEmpty());
  EXPECT_EQ(verified.near_ties, 1U);
}

TEST_F(ModelVerificationTest, ComparesARoundedCopyWithWhatItWasMadeOf) {
  const std::filesystem::path rounded = folder_ / "rounded";
  plugins::quantize_model(imported_, rounded, tensor::ComputeChoice::kI8, host_);
  ModelVerification verified = verify_model(rounded, host_, {.threads = 1});
  EXPECT_THAT(verified.faults, IsEmpty());
  EXPECT_TRUE(verified.rounded_weights);
  EXPECT_EQ(verified.bounds.mean, verification_bounds(tensor::ComputeType::kI8).mean);
  // Norms and biases are F32 still.
  EXPECT_GT(verified.compared_weights, 5U);
  verified = verify_model(rounded, host_, {.compute = tensor::ComputeChoice::kF32, .threads = 1});
  EXPECT_EQ(verified.bounds.mean, verification_bounds(tensor::ComputeType::kI8).mean);
  EXPECT_GT(verified.mean_error, 1e-6);
}

TEST_F(ModelVerificationTest, ComparesForeignFoldersWithDoublePrecision) {
  const ModelVerification verified = verify_model(foreign_, host_, {.threads = 1});
  EXPECT_EQ(verified.against, "double precision");
  EXPECT_THAT(verified.faults, IsEmpty());
  EXPECT_EQ(verified.equal_translations + verified.near_ties, 4U);
  EXPECT_LT(verified.largest_error, 1e-5);
  EXPECT_GT(verified.largest_error, 0);
}

TEST_F(ModelVerificationTest, CountsTheParametersOfAForeignModelBeforeItIsLoaded) {
  Json config = core::load_json((foreign_ / "config.json").string());
  config.update({{"encoder_ffn_dim", 1 << 18}, {"decoder_ffn_dim", 1 << 18}, {"encoder_layers", 64}});
  core::write_file(foreign_ / "config.json", config.dump());
  EXPECT_THAT(error_of([&] { verify_model(foreign_, host_, {.threads = 1}); }),
              HasSubstr("parameters, and with more than 134217728 double precision takes minutes"));
}

TEST_F(ModelVerificationTest, RefusesReferencesOfAnotherModel) {
  const auto error_with = [&](const char* pointer, const Json& value) {
    Json json = reference_json();
    json[Json::json_pointer(pointer)] = value;
    core::write_file(folder_ / "changed.json", json.dump());
    core::write_file(reference(), json.dump());
    const std::string error = error_of([&] { verify(); });
    return error;
  };
  const Json before = reference_json();
  EXPECT_THAT(error_with("/sentences/0/source/0", 100000), HasSubstr("sentences: 0: source: must be ids"));
  core::write_file(reference(), before.dump());
  EXPECT_THAT(error_with("/sentences/1/margins", Json::array()), HasSubstr("sentences: 1: margins: must be one for"));
  core::write_file(reference(), before.dump());
  EXPECT_THAT(error_with("/sentences", 5), HasSubstr("sentences: must be a list of sentences"));
  EXPECT_THAT(error_with("/sentences", Json(std::vector<int>(4097, 0))),
              HasSubstr("holds 4097 sentences; at most 4096"));
  EXPECT_THAT(error_with("/format_version", 2), HasSubstr("reference.json: format_version: is of a newer program"));
  core::write_file(reference(), before.dump());
  EXPECT_THAT(error_with("/weights/output.bias", "12"), HasSubstr("weights: 'output.bias': must be a fingerprint"));
}

TEST_F(ModelVerificationTest, ReadsReferencesAsItWritesThem) {
  const auto spec = formats::load_model_config(imported_).sequences;
  const formats::ModelReference reference = formats::load_model_reference(imported_, spec);
  EXPECT_EQ(formats::to_text(reference), core::read_file(imported_ / "reference.json"));
}

TEST_F(ModelVerificationTest, ImportsStopWhenTheyAreAsked) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(
      error_of([&] { plugins::import_model(foreign_, folder_ / "stopped", host_, {.stop = stop.get_token()}); }),
      HasSubstr("interrupted while importing a model"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "stopped"));
}

}  // namespace
}  // namespace dragoman::pipeline
