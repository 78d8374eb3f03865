#include "dragoman/plugins/conformance.h"

#include "planted/letters.h"
#include "planted_file.h"
#include "teaching_model.h"
#include "test_data.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/options.h>

namespace dragoman::plugins {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Fault;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Host& host_with_teaching_kernels() {
  static Host host;
  static const bool added = [] {
    Registrar registrar;
    testing::add_teaching_kernels(registrar);
    host.registry().add("teaching", registrar.take());
    return true;
  }();
  static_cast<void>(added);
  return host;
}

std::vector<Verdict> verdicts_on(Fault fault) {
  const testing::TemporaryFolder scratch;
  return check_model(host_with_teaching_kernels(), testing::teaching_model(fault), {.scratch_folder = scratch.path()});
}

std::set<std::string> failed_checks(const std::vector<Verdict>& verdicts) {
  std::set<std::string> failed;
  for (const Verdict& verdict : verdicts)
    if (!verdict.passed) failed.insert(verdict.check);
  return failed;
}

std::string complaints(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts)
    if (!verdict.passed)
      text += verdict.subject + " " + verdict.device + " " + verdict.check + ": " + verdict.detail + "\n";
  return text;
}

/// Which check is there to find the fault. A fault may well break other promises, too: a model that sees the future
/// gives other states when it steps.
const std::map<Fault, std::string> kFoundBy = {{Fault::kWrongGradient, "finite-differences"},
                                               {Fault::kDetachedParameter, "every-parameter"},
                                               {Fault::kUnusedParameter, "every-parameter"},
                                               {Fault::kPositionOffByOne, "cached-steps"},
                                               {Fault::kPrefixAtOnePosition, "forced-prefix"},
                                               {Fault::kBatchNormalisation, "batch-invariance"},
                                               {Fault::kStateByRow, "beam-order"},
                                               {Fault::kSeesTheFuture, "causality"},
                                               {Fault::kIgnoresSource, "dependence"},
                                               {Fault::kForgetsHistory, "dependence"},
                                               {Fault::kScaleInTrainingOnly, "training-mode"},
                                               {Fault::kCounts, "determinism"},
                                               {Fault::kUnsavedValue, "round-trip"},
                                               {Fault::kForgetfulConfig, "round-trip"},
                                               {Fault::kAlignsElsewhere, "alignment"},
                                               {Fault::kWrongCpuKernel, "device"},
                                               {Fault::kThrows, "cached-steps"}};

TEST(Conformance, AModelWithoutAFaultPassesEveryCheckOnEveryDevice) {
  const std::vector<Verdict> verdicts = verdicts_on(Fault::kNone);
  EXPECT_THAT(complaints(verdicts), IsEmpty());
  std::set<std::string> ran;
  for (const Verdict& verdict : verdicts) ran.insert(verdict.device + " " + verdict.check);
  EXPECT_THAT(ran, Contains("reference finite-differences"));
  for (const CheckDescription& check : conformance_checks())
    EXPECT_TRUE(ran.contains("cpu " + std::string(check.name)) || ran.contains("reference " + std::string(check.name)))
        << check.name;
}

class PlantedFault : public ::testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsFound) {
  const std::vector<Verdict> verdicts = verdicts_on(GetParam());
  EXPECT_THAT(failed_checks(verdicts), Contains(kFoundBy.at(GetParam()))) << complaints(verdicts);
}

INSTANTIATE_TEST_SUITE_P(Conformance, PlantedFault, ::testing::ValuesIn(testing::all_faults()),
                         [](const auto& test) { return testing::name_of(test.param); });

/// Faults that touch one promise only must not make the other checks cry wolf.
class SingleFault : public ::testing::TestWithParam<Fault> {};

TEST_P(SingleFault, FailsNoOtherCheck) {
  const std::vector<Verdict> verdicts = verdicts_on(GetParam());
  EXPECT_THAT(failed_checks(verdicts), ElementsAre(kFoundBy.at(GetParam()))) << complaints(verdicts);
}

INSTANTIATE_TEST_SUITE_P(Conformance, SingleFault,
                         ::testing::Values(Fault::kUnusedParameter, Fault::kPrefixAtOnePosition, Fault::kIgnoresSource,
                                           Fault::kForgetfulConfig, Fault::kAlignsElsewhere, Fault::kWrongCpuKernel),
                         [](const auto& test) { return testing::name_of(test.param); });

TEST(Conformance, EveryCheckHasAFaultThatItFinds) {
  std::set<std::string> covered;
  for (const auto& [fault, check] : kFoundBy) covered.insert(check);
  // Any state kept outside of the DecoderState breaks a running pool as it breaks a beam: seen below.
  covered.insert("refill");
  for (const CheckDescription& check : conformance_checks())
    EXPECT_TRUE(covered.contains(std::string(check.name))) << check.name;
}

TEST(Conformance, StateByRowAlsoBreaksARunningPool) {
  EXPECT_THAT(failed_checks(verdicts_on(Fault::kStateByRow)), Contains("refill"));
}

TEST(Conformance, AnExceptionIsAFindingWithItsMessage) {
  EXPECT_THAT(complaints(verdicts_on(Fault::kThrows)), HasSubstr("the model threw: planted: the step fails"));
}

TEST(Conformance, TheBuiltInModelsPass) {
  const testing::TemporaryFolder scratch;
  Host host;
  const std::vector<Verdict> verdicts = check_provider(host, kBuiltin, {.scratch_folder = scratch.path()});
  EXPECT_GE(verdicts.size(), conformance_checks().size());
  EXPECT_THAT(complaints(verdicts), IsEmpty());
}

TEST(Conformance, AnOpWithoutAReferenceKernelIsFound) {
  struct Arguments {};
  static constexpr tensor::KernelKey<void(tensor::Context&, const Arguments&)> kLonely{"lonely"};
  Host host;
  Registrar registrar;
  registrar.add_kernel("cpu", kLonely, [](tensor::Context&, const Arguments&) {});
  host.registry().add("guest", registrar.take());
  const std::vector<Verdict> verdicts = check_provider(host, "guest", {});
  EXPECT_EQ(complaints(verdicts), "lonely reference kernel: missing: models that use the op do not run here\n");
  EXPECT_EQ(verdicts.size(), 2U);
}

// --- what is no model ---

std::string complaints_about(Registrar& registrar) {
  Host host;
  host.registry().add("guest", registrar.take());
  const std::vector<Verdict> verdicts = check_provider(host, "guest", {});
  EXPECT_FALSE(verdicts.empty());
  return complaints(verdicts);
}

/// Takes the best candidate, but for every third decision, whatever sentence that is about.
class Whimsical final : public decoding::SearchStrategy {
 public:
  decoding::StepNeeds needs(std::int64_t) const override { return {.candidates = 2}; }
  std::int32_t maximum_live() const override { return 1; }
  void advance(decoding::SentenceState& state, const decoding::Candidates& candidates,
               decoding::Advance& result) override {
    const std::int64_t rank = ++decisions_ % 3 == 0 ? 1 : 0;
    const std::int32_t token = candidates.token(0, rank);
    if (token == state.spec->end || state.length == state.maximum_length)
      result.endings.push_back({0, token == state.spec->end ? decoding::StoppedBy::kEnd : decoding::StoppedBy::kLength,
                                candidates.log_probability(0, rank), 0});
    else
      result.continuations.push_back({0, token, candidates.log_probability(0, rank)});
  }

 private:
  int decisions_ = 0;
};

TEST(Conformance, AStrategyThatMixesUpSentencesIsFound) {
  Registrar registrar;
  registrar.add(SearchStrategyEntry{"whimsical", "", [](const decoding::DecodingOptions&, core::OptionReader&) {
                                      return std::make_unique<Whimsical>();
                                    }});
  EXPECT_THAT(complaints_about(registrar), HasSubstr("whimsical reference batch-invariance: sentence"));
}

class Bias final : public decoding::LogitsProcessor {
 public:
  explicit Bias(bool counts) : counts_(counts) {}
  void apply(const decoding::SentenceState&, const decoding::LiveHypothesis&, decoding::RowEdits& edits) override {
    edits.add(counts_ ? 3 + calls_++ % 10 : 4, 3.0F);
  }

 private:
  bool counts_;
  int calls_ = 0;
};

TEST(Conformance, ALogitsProcessorThatCountsIsFoundAndOneThatDoesNotPasses) {
  for (const bool counts : {false, true}) {
    Registrar registrar;
    registrar.add(LogitsProcessorEntry{
        "bias", "", [counts](const nn::SequenceSpec&, core::OptionReader&) { return std::make_unique<Bias>(counts); }});
    const std::string found = complaints_about(registrar);
    if (counts)
      EXPECT_THAT(found, HasSubstr("bias reference batch-invariance"));
    else
      EXPECT_THAT(found, IsEmpty());
  }
}

/// Which check is there to find what is wrong with a tokenizer.
using planted::LettersFault;
const std::map<LettersFault, std::string> kLettersFoundBy = {
    {LettersFault::kLosesSpaces, "text-round-trip"}, {LettersFault::kOutOfRange, "any-text"},
    {LettersFault::kThrowsOnBytes, "any-text"},      {LettersFault::kTwoNames, "pieces"},
    {LettersFault::kPlainEncoder, "streams"},        {LettersFault::kCounts, "threads"},
    {LettersFault::kDamaged, "damaged-files"}};

std::vector<Verdict> verdicts_on_letters(LettersFault fault) {
  Registrar registrar;
  registrar.add(TokenizerEntry{"letters", "",
                               [fault](const tokenizer::TokenizerFile& file, core::OptionReader& own) {
                                 return std::make_unique<planted::Letters>(file, own, fault);
                               },
                               planted::letters_example()});
  Host host;
  host.registry().add("guest", registrar.take());
  return check_provider(host, "guest", {});
}

TEST(Conformance, ATokenizerWithoutAFaultPasses) {
  const std::vector<Verdict> verdicts = verdicts_on_letters(LettersFault::kNone);
  EXPECT_THAT(complaints(verdicts), IsEmpty());
  std::set<std::string> ran;
  for (const Verdict& verdict : verdicts) ran.insert(verdict.check);
  for (const auto& [fault, check] : kLettersFoundBy) EXPECT_TRUE(ran.contains(check)) << check;
  EXPECT_EQ(ran.size(), 6U);
}

TEST(Conformance, EveryFaultOfATokenizerIsFound) {
  for (const auto& [fault, check] : kLettersFoundBy)
    EXPECT_THAT(failed_checks(verdicts_on_letters(fault)), Contains(check)) << complaints(verdicts_on_letters(fault));
}

TEST(Conformance, ATokenizerWithoutAnExampleIsToldToHaveOne) {
  Registrar registrar;
  registrar.add(TokenizerEntry{"letters", "", [](const tokenizer::TokenizerFile& file, core::OptionReader& own) {
                                 return std::make_unique<planted::Letters>(file, own);
                               }});
  EXPECT_THAT(complaints_about(registrar), HasSubstr("letters - text-round-trip: the entry has no example"));
}

/// The importer of examples/plugin, changed.
std::vector<Verdict> verdicts_on_importer(const std::function<void(ModelImporterEntry&)>& change) {
  const testing::TemporaryFolder scratch;
  Host host;
  host.loader().load(planted_file("arrays"));
  ModelImporterEntry entry = host.registry().model_importers().get("numpy-arrays");
  entry.name = "changed";
  change(entry);
  Registrar registrar;
  registrar.add(entry);
  host.registry().add("guest", registrar.take());
  return check_provider(host, "guest", {.scratch_folder = scratch.path()});
}

TEST(Conformance, AnImporterWithoutAFaultPasses) {
  const std::vector<Verdict> verdicts = verdicts_on_importer([](ModelImporterEntry&) {});
  EXPECT_THAT(complaints(verdicts), IsEmpty());
  EXPECT_EQ(verdicts.size(), 3U);
}

/// Passes everything on, but for what is planted.
class FaultyModel : public formats::OpenedModel {
 public:
  explicit FaultyModel(std::unique_ptr<formats::OpenedModel> sound) : sound_(std::move(sound)) {}
  const std::filesystem::path& path() const noexcept override { return sound_->path(); }
  const formats::ModelConfig& config() const noexcept override { return sound_->config(); }
  formats::ModelTokenizers tokenizers() const override { return sound_->tokenizers(); }
  std::string card() const override { return sound_->card(); }
  std::string shortlist() const override { return sound_->shortlist(); }
  void check(const nn::ParameterStore& parameters) const override { sound_->check(parameters); }
  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override { sound_->read(parameter, out); }
  void finish() override { sound_->finish(); }

 private:
  std::unique_ptr<formats::OpenedModel> sound_;
};

/// Leaves something of the time of day in a value.
class CountingModel final : public FaultyModel {
 public:
  using FaultyModel::FaultyModel;
  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override {
    static int count = 0;
    FaultyModel::read(parameter, out);
    tensor::set_element(out, 0, 0, ++count);
  }
};

/// Forgets one parameter.
class ForgetfulModel final : public FaultyModel {
 public:
  using FaultyModel::FaultyModel;
  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override {
    if (!parameter.name.ends_with("out.bias")) FaultyModel::read(parameter, out);
  }
  void finish() override {}
};

/// Is no core::Error.
class ThrowingModel final : public FaultyModel {
 public:
  using FaultyModel::FaultyModel;
  void check(const nn::ParameterStore& parameters) const override {
    try {
      FaultyModel::check(parameters);
    } catch (const core::Error& error) {
      throw std::runtime_error(error.what());
    }
  }
  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override {
    try {
      FaultyModel::read(parameter, out);
    } catch (const core::Error& error) {
      throw std::runtime_error(error.what());
    }
  }
};

template <class Model>
void wrap(ModelImporterEntry& entry) {
  entry.make = [make = entry.make](const std::filesystem::path& path, core::OptionReader& own) {
    return std::make_unique<Model>(make(path, own));
  };
}

TEST(Conformance, EveryFaultOfAnImporterIsFound) {
  const auto failed_after = [](const std::function<void(ModelImporterEntry&)>& change) {
    return failed_checks(verdicts_on_importer(change));
  };
  EXPECT_THAT(failed_after([](ModelImporterEntry& entry) {
                entry.recognises = [](const std::filesystem::path& path) { return std::filesystem::exists(path); };
              }),
              Contains("recognition"));
  EXPECT_THAT(failed_after([](ModelImporterEntry& entry) {
                entry.recognises = [](const std::filesystem::path&) { return false; };
              }),
              Contains("recognition"));
  EXPECT_THAT(failed_after(wrap<CountingModel>), Contains("import"));
  EXPECT_THAT(failed_after(wrap<ForgetfulModel>), Contains("import"));
  EXPECT_THAT(failed_after(wrap<ThrowingModel>), Contains("damaged-files"));
  EXPECT_THAT(failed_after([](ModelImporterEntry& entry) { entry.write_example = {}; }), Contains("import"));
}

/// Cuts bytes, not characters.
class Truncate final : public pipeline::MapStage {
 public:
  void process(pipeline::Record& record) const override {
    record.text.resize(std::min(record.text.size(), std::size_t{1}));
  }
};

TEST(Conformance, AStageThatBreaksCharactersIsFound) {
  Registrar registrar;
  registrar.add(StageEntry{"truncate", "", [](core::OptionReader&) { return std::make_unique<Truncate>(); }});
  EXPECT_THAT(complaints_about(registrar), HasSubstr("is not valid UTF-8 any more"));
}

/// Appends how many records there were.
class Count final : public pipeline::MapStage {
 public:
  void process(pipeline::Record& record) const override { record.text += std::to_string(count_++); }

 private:
  mutable std::atomic<int> count_{0};
};

TEST(Conformance, AStageWithAMemoryIsFound) {
  Registrar registrar;
  registrar.add(StageEntry{"count", "", [](core::OptionReader&) { return std::make_unique<Count>(); }});
  EXPECT_THAT(complaints_about(registrar), HasSubstr("is not the same on every thread"));
}

}  // namespace
}  // namespace dragoman::plugins
