#pragma once

#include "error_message.h"
#include "test_data.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/decoding/score.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::imports {

/// An imported model beside what another program makes of its sources.
class ImportedModel {
 public:
  ImportedModel(plugins::Host& host, const std::filesystem::path& from,
                const core::Json& options = core::Json::object())
      : host_(host) {
    plugins::import_model(from, folder(), host_, {.options = options});
    loaded_ = plugins::load_model(folder(), host_);
  }

  std::filesystem::path folder() const { return scratch_ / "imported"; }
  const plugins::LoadedModel& loaded() const { return loaded_; }

  /// Natural logarithms of the target's tokens and its end, by teacher forcing.
  std::vector<double> log_probabilities(std::vector<std::int32_t> source, std::vector<std::int32_t> target) const {
    core::SequentialExecutor executor;
    const auto context = host_.runtime().make_context(tensor::Device::kCpu, executor);
    const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(source.size())};
    const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(target.size())};
    return decoding::score(*loaded_.model, *context, {source, source_offsets}, {target, target_offsets})
        .front()
        .token_log_probabilities;
  }

  pipeline::Record translate(const std::string& line, const decoding::DecodingOptions& search) const {
    const pipeline::TranslateOptions options{
        .search = decoding::search_of(search), .ignore_model_defaults = true, .details = true};
    pipeline::Translator translator(pipeline::Model(folder(), host_, {.threads = 1}), options);
    std::vector<pipeline::Record> records(1);
    records.front().text = line;
    return translator.translate(std::move(records)).front();
  }
  std::string greedy(const std::string& line, std::int32_t longest) const {
    decoding::DecodingOptions search{.maximum_length = longest};
    search.strategy = "greedy";
    return translate(line, search).text;
  }

 private:
  plugins::Host& host_;
  testing::TemporaryFolder scratch_;
  plugins::LoadedModel loaded_;
};

/// The largest error of log probabilities in a test, for the test's XML report, of which the table of
/// docs/guides/models.md is made.
class LargestError {
 public:
  explicit LargestError(std::string name = "largest_error") : name_(std::move(name)) {}
  void add(double found, double wanted) { largest_ = std::max(largest_, std::abs(found - wanted)); }
  ~LargestError() { ::testing::Test::RecordProperty(name_, fmt::format("{:.1e}", largest_)); }

 private:
  std::string name_;
  double largest_ = 0;
};

inline core::Json load_expected(const std::string& family) {
  return core::load_json(testing::golden_file(family + "/expected.json").string());
}

}  // namespace dragoman::imports
