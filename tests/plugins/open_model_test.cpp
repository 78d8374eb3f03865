// Models are opened once, whatever is done with them, and model folders and other toolkits' models take one path.

#include "error_message.h"
#include "test_data.h"

#include <latch>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/imports/importers.h>
#include <dragoman/pipeline/model_verification.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/plugins/export_model.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/plugins/quantize_model.h>

namespace dragoman::plugins {
namespace {

using std::filesystem::path;
using testing::error_of;
using ::testing::HasSubstr;

/// An importer of folders that hold a folder of transformers, which counts what it is asked.
struct Counter {
  int recognised = 0;
  int opened = 0;
};

ModelImporterEntry counting_importer(Counter& counter) {
  const formats::ModelImporter inner = imports::built_in_importers().front();
  return {.name = "counting",
          .summary = "",
          .make =
              [&counter, make = inner.make](const path& folder, core::OptionReader& own) {
                ++counter.opened;
                return make(folder / "inner", own);
              },
          .recognises =
              [&counter](const path& folder) {
                const bool mine = std::filesystem::exists(folder / "inner");
                counter.recognised += mine ? 1 : 0;
                return mine;
              },
          .write_example = {}};
}

class OpenModel : public ::testing::Test {
 protected:
  OpenModel() {
    core::make_folder(foreign());
    std::filesystem::copy(testing::source_folder() / "tests/formats/golden/huggingface/marian", foreign() / "inner",
                          std::filesystem::copy_options::recursive);
    Registrar registrar;
    registrar.add(counting_importer(counter_));
    host_.registry().add("test", registrar.take());
  }

  path foreign() const { return folder_ / "foreign"; }
  path output(const std::string& name) const { return folder_ / name; }
  void expect_opened_once() {
    EXPECT_EQ(counter_.recognised, 1);
    EXPECT_EQ(counter_.opened, 1);
    counter_ = {};
  }

  Host host_;
  Counter counter_;
  testing::TemporaryFolder folder_;
};

TEST_F(OpenModel, APipelineOpensTheModelOnceForDefaultsAndWeights) {
  core::write_file(folder_ / "in", "th\nth th\n");
  const std::string yaml = "stages: [{read: {path: " + output("in").string() +
                           "}}, {translate: {model: " + foreign().string() +
                           "}}, {write: {path: " + output("out").string() + "}}]";
  pipeline::make_pipeline(core::parse_yaml(yaml, "test.yml"), "test.yml", host_, 2).run({});
  expect_opened_once();
  EXPECT_THAT(core::read_file(output("out")), ::testing::MatchesRegex(".*\n.*\n"));
}

TEST_F(OpenModel, EveryUseOpensTheFilesOnce) {
  EXPECT_GT(load_model(foreign(), host_).model->parameters().count(), 0);
  expect_opened_once();
  EXPECT_TRUE(pipeline::verify_model(foreign(), host_).faults.empty());
  expect_opened_once();
  export_model(foreign(), output("exported"), "ctranslate2", host_);
  expect_opened_once();
  quantize_model(foreign(), output("rounded"), tensor::ComputeChoice::kBF16, host_);
  expect_opened_once();
  import_model(foreign(), output("imported"), host_);
  expect_opened_once();
}

TEST_F(OpenModel, WhoHoldsAModelSharesIt) {
  const auto opened = host_.open_model(foreign());
  EXPECT_EQ(host_.open_model(foreign() / "." / ""), opened) << "the same folder";
  EXPECT_EQ(count_parameters(foreign(), host_), load_model(*opened, host_).model->parameters().count());
  EXPECT_EQ(load_config(foreign(), host_).model_type, "transformer");
  expect_opened_once();
}

TEST_F(OpenModel, ThreadsThatAskAtTheSameTimeShareIt) {
  constexpr int kAsking = 8;
  std::vector<std::shared_ptr<formats::OpenedModel>> opened(kAsking);
  std::latch start(kAsking);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : opened)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        mine = host_.open_model(foreign());
      });
  }
  for (const auto& mine : opened) EXPECT_EQ(mine, opened.front());
  expect_opened_once();
}

TEST_F(OpenModel, OneThatNobodyHoldsIsOpenedAnew) {
  host_.open_model(foreign());
  core::write_file(foreign() / "inner" / "config.json", "{}");
  EXPECT_THAT(error_of([&] { host_.open_model(foreign()); }), HasSubstr("config.json"));
  EXPECT_EQ(counter_.opened, 2);
}

TEST_F(OpenModel, ModelsOfOtherToolkitsAreExportedAndRoundedAsTheirImportsAre) {
  import_model(foreign(), output("imported"), host_);
  // All but what names the model that it was made of.
  const std::set<path> own = {"README.md", "SHA256SUMS", "reference.json"};
  const auto expect_same = [&](const path& one, const path& other) {
    for (const path& file : core::list_folder(one)) {
      const path name = file.filename();
      if (own.contains(name)) continue;
      EXPECT_EQ(core::read_regular_file(file), core::read_regular_file(other / name)) << name;
    }
  };
  export_model(foreign(), output("direct"), "ctranslate2", host_);
  export_model(output("imported"), output("by_import"), "ctranslate2", host_);
  expect_same(output("direct"), output("by_import"));
  for (const auto type : {tensor::ComputeChoice::kI8, tensor::ComputeChoice::kBF16}) {
    quantize_model(foreign(), output("direct_rounded"), type, host_);
    quantize_model(output("imported"), output("rounded"), type, host_);
    expect_same(output("direct_rounded"), output("rounded"));
  }
}

TEST_F(OpenModel, OptionsThatAnImporterDoesNotKnowAreRefused) {
  EXPECT_THAT(error_of([&] {
                import_model(foreign(), output("imported"), host_, {.options = {{"tasks", "a"}}});
              }),
              HasSubstr("tasks"));
}

}  // namespace
}  // namespace dragoman::plugins
