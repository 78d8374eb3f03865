#include "dragoman/plugins/registry.h"

#include "error_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/plugins/host.h>

namespace dragoman::plugins {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

std::unique_ptr<nn::Seq2SeqModel> no_model(const nn::SequenceSpec&, const core::Json&) {
  return nullptr;
}

ModelEntry model_entry(std::string name) {
  return {std::move(name), "a model", no_model, {}};
}

Contributions models(const std::vector<std::string>& names) {
  Registrar registrar;
  for (const std::string& name : names) registrar.add(model_entry(name));
  return registrar.take();
}

struct PlusOneArguments {
  tensor::Tensor x;
};
inline constexpr tensor::KernelKey<void(tensor::Context&, const PlusOneArguments&)> kPlusOne{"test_plus_one"};
void plus_one(tensor::Context&, const PlusOneArguments&) {}

class RegistryTest : public ::testing::Test {
 protected:
  runtime::Runtime runtime_;
  Registry registry_{runtime_};
};

TEST_F(RegistryTest, KeepsWhatIsRegisteredAndByWhom) {
  registry_.add("house", models({"alpha", "beta"}));
  registry_.add("guest", models({"gamma"}));
  EXPECT_EQ(registry_.models().all().size(), 3U);
  EXPECT_EQ(registry_.models().find("beta")->provider, "house");
  EXPECT_EQ(registry_.models().find("gamma")->provider, "guest");
  EXPECT_EQ(registry_.models().get("gamma").summary, "a model");
  EXPECT_EQ(registry_.models().find("delta"), nullptr);
}

TEST_F(RegistryTest, AnUnknownNameGetsTheNearestOneAndTheList) {
  registry_.add("house", models({"transformer", "ssru"}));
  const std::string message = error_of([&] { registry_.models().get("transfomer"); });
  EXPECT_THAT(message, HasSubstr("no model is called 'transfomer', did you mean 'transformer'?"));
  EXPECT_THAT(message, HasSubstr("transformer, ssru"));
  EXPECT_THAT(error_of([&] { registry_.stages().get("lowercase"); }),
              HasSubstr("no pipeline stage is called 'lowercase'; registered are: read, normalize"));
}

TEST_F(RegistryTest, ATakenNameIsRefusedAndNothingOfTheLotStays) {
  registry_.add("house", models({"alpha"}));
  EXPECT_THAT(error_of([&] {
                registry_.add("guest", models({"beta", "alpha"}));
              }),
              HasSubstr("the model 'alpha' is registered already, by 'house'"));
  EXPECT_EQ(registry_.models().all().size(), 1U);
  EXPECT_THAT(error_of([&] { registry_.add("guest", models({"beta", "beta"})); }), HasSubstr("by 'guest'"));
  EXPECT_EQ(registry_.models().all().size(), 1U);
}

TEST_F(RegistryTest, NamesOfThePipelinesOwnStagesAreTaken) {
  for (const std::string_view name : pipeline::kBuiltInStageNames) {
    Registrar registrar;
    registrar.add(StageEntry{std::string(name), "", [](core::OptionReader&) { return nullptr; }});
    EXPECT_THAT(error_of([&] { registry_.add("guest", registrar.take()); }),
                HasSubstr(fmt::format("the pipeline stage '{}' is registered already, by 'dragoman'", name)));
  }
}

TEST_F(RegistryTest, KernelsOfARefusedLotAreTakenOutAgain) {
  Registrar registrar;
  registrar.add(model_entry("alpha"));
  registrar.add_kernel("cpu", kPlusOne, plus_one);
  registrar.add_kernel("reference", kPlusOne, plus_one);
  registrar.add_kernel("reference", ops::kAdd, [](tensor::Context&, const ops::AddArguments&) {});
  EXPECT_THAT(error_of([&] { registry_.add("guest", registrar.take()); }),
              HasSubstr("the reference backend already has a kernel for the op 'add'"));
  EXPECT_EQ(runtime_.kernels(tensor::Device::kCpu).find(kPlusOne), nullptr);
  EXPECT_EQ(runtime_.kernels(tensor::Device::kReference).find(kPlusOne), nullptr);
  EXPECT_NE(runtime_.kernels(tensor::Device::kReference).find(ops::kAdd), nullptr);
  EXPECT_EQ(registry_.models().find("alpha"), nullptr);
  EXPECT_TRUE(registry_.kernels().empty());
}

TEST_F(RegistryTest, KernelsGoToTheDevicesThatAreHere) {
  Registrar registrar;
  registrar.add_kernel("cpu", kPlusOne, plus_one);
  registrar.add_kernel("elsewhere", kPlusOne, plus_one);
  registry_.add("guest", registrar.take());
  EXPECT_EQ(runtime_.kernels(tensor::Device::kCpu).find(kPlusOne), plus_one);
  ASSERT_EQ(registry_.kernels().size(), 1U);
  EXPECT_EQ(registry_.kernels()[0].op, "test_plus_one");
  EXPECT_EQ(registry_.kernels()[0].provider, "guest");
}

TEST(Registrar, RefusesNamesThatCannotBeWrittenAndMissingFactories) {
  Registrar registrar;
  EXPECT_THAT(error_of([&] { registrar.add(model_entry("")); }), HasSubstr("cannot be the name of a model"));
  EXPECT_THAT(error_of([&] { registrar.add(model_entry("two words")); }), HasSubstr("'two words'"));
  EXPECT_THAT(error_of([&] { registrar.add(model_entry("a/b")); }), HasSubstr("'a/b'"));
  EXPECT_THAT(error_of([&] {
                registrar.add(StageEntry{"lower", "", nullptr});
              }),
              HasSubstr("the pipeline stage 'lower' has no factory"));
  EXPECT_TRUE(registrar.contributions().models.empty());
  EXPECT_TRUE(registrar.contributions().stages.empty());
}

TEST(Registrar, AFactoryThatMakesNothingIsAnErrorThatNamesIt) {
  Registrar registrar;
  registrar.add(StageEntry{"lower", "", [](core::OptionReader&) { return nullptr; }});
  registrar.add(ModelEntry{"empty", "", [](const nn::SequenceSpec&, const core::Json&) { return nullptr; }, {}});
  const Contributions made = registrar.take();
  const core::Json none = core::Json::object();
  core::OptionReader options(none, "options");
  EXPECT_THAT(error_of([&] { made.stages[0].make(options); }), HasSubstr("the pipeline stage 'lower' made none"));
  EXPECT_THAT(error_of([&] { made.models[0].make({}, none); }), HasSubstr("the model 'empty' made none"));
}

TEST_F(RegistryTest, ReferencesSurviveWhatIsAddedLater) {
  Registrar first;
  first.add(model_entry("first"));
  registry_.add("guest", first.take());
  const ModelEntry& entry = registry_.models().get("first");
  for (int i = 0; i < 20; ++i) {
    Registrar another;
    another.add(model_entry("model" + std::to_string(i)));
    registry_.add("guest" + std::to_string(i), another.take());
  }
  EXPECT_EQ(&registry_.models().get("first"), &entry);
}

TEST_F(RegistryTest, AnImporterIsNotCalledAsAKindOfTokenizer) {
  Registrar registrar;
  registrar.add(ModelImporterEntry{.name = "gpt2",
                                   .summary = "",
                                   .make = [](const auto&, auto&) { return nullptr; },
                                   .recognises = [](const auto&) { return false; },
                                   .write_example = {}});
  EXPECT_THAT(error_of([&] { registry_.add("guest", registrar.take()); }), HasSubstr("'gpt2' is registered already"));
}

TEST(Host, HasTheBuiltins) {
  const Host host;
  EXPECT_EQ(host.registry().models().find("transformer")->provider, kBuiltin);
  for (const char* name : {"beam", "greedy", "sampling"})
    EXPECT_EQ(host.registry().search_strategies().find(name)->provider, kBuiltin) << name;
  for (const char* name : {"tokenizer-json", "subword-nmt", "fastbpe", "sentencepiece", "tiktoken", "youtokentome"})
    EXPECT_EQ(host.registry().tokenizers().find(name)->provider, kBuiltin) << name;
}

}  // namespace
}  // namespace dragoman::plugins
