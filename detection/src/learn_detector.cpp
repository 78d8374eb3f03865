#include "ngram_features.h"
#include "sampler.h"
#include "table.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/detection/learn_detector.h>

namespace dragoman::detection {
namespace {

using core::Error;
using core::ErrorCode;

/// Rows of small integers are scaled by the value that this part of them does not exceed; the rest is clipped.
constexpr double kUnclipped = 0.9995;
constexpr float kLargest = 127;

/// The model in floating point while it is learned: the formula of DetectorTable, and stochastic gradient descent on
/// its cross-entropy.
class Learner {
 public:
  Learner(const LearnDetectorOptions& options, const Sampler& sampler, Random& random)
      : width_(options.width),
        row_count_(options.rows),
        rows_(std::size_t{options.rows} * options.width),
        sum_(width_),
        gradient_(width_) {
    for (float& value : rows_) value = static_cast<float>((random.uniform() - 0.5) * 2 / width_);
    for (std::size_t i = 0; i < kWritings; ++i)
      for (const std::uint32_t language : sampler.languages(static_cast<Writing>(i)))
        classes_[i].push_back({language, 0, std::vector<float>(width_)});
  }

  /// Takes a step towards class `correct` of the writing. Returns the loss before it.
  double step(Writing writing, std::size_t correct, const std::vector<std::uint32_t>& features, float rate) {
    auto& classes = classes_[static_cast<std::size_t>(writing)];
    std::fill(sum_.begin(), sum_.end(), 0.0F);
    for (const std::uint32_t feature : features) add(sum_, row(feature), 1);
    const float norm = 1 / std::sqrt(static_cast<float>(features.size()));
    for (float& value : sum_) value *= norm;
    score(classes);
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const float error = rate * ((i == correct ? 1 : 0) - probabilities_[i]);
      add(gradient_, classes[i].weights.data(), error);
      add(classes[i].weights, sum_.data(), error);
      classes[i].bias += kBiasRate * error;
    }
    for (const std::uint32_t feature : features)
      for (std::uint32_t i = 0; i < width_; ++i) row(feature)[i] += norm * gradient_[i];
    return -std::log(std::max(probabilities_[correct], 1e-9F));
  }

  /// Returns the model with rows of 8-bit integers. The weights take the scale.
  DetectorTable::Parts parts(const std::vector<std::string>& languages) const {
    std::vector<float> sizes;
    for (const float value : rows_) sizes.push_back(std::fabs(value));
    const auto nth = sizes.begin() + static_cast<std::ptrdiff_t>(kUnclipped * static_cast<double>(sizes.size() - 1));
    std::nth_element(sizes.begin(), nth, sizes.end());
    const float scale = std::max(*nth, 1e-6F) / kLargest;
    DetectorTable::Parts parts{.width = width_, .languages = languages, .classes = classes_, .rows = {}};
    for (auto& classes : parts.classes)
      for (Class& one : classes)
        for (float& weight : one.weights) weight *= scale;
    for (const float value : rows_)
      parts.rows.push_back(static_cast<std::int8_t>(std::clamp(std::round(value / scale), -kLargest, kLargest)));
    return parts;
  }

 private:
  /// Biases that learn slowly do not learn how often a language is drawn first.
  static constexpr float kBiasRate = 0.1F;

  float* row(std::uint32_t hash) { return &rows_[std::size_t{hash % row_count_} * width_]; }

  static void add(std::vector<float>& to, const float* from, float factor) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
  }

  void score(const std::vector<Class>& classes) {
    probabilities_.clear();
    for (const Class& one : classes) {
      float score = one.bias;
      for (std::uint32_t i = 0; i < width_; ++i) score += one.weights[i] * sum_[i];
      probabilities_.push_back(score);
    }
    const float highest = *std::max_element(probabilities_.begin(), probabilities_.end());
    float total = 0;
    for (float& value : probabilities_) total += value = std::exp(value - highest);
    for (float& value : probabilities_) value /= total;
  }

  std::uint32_t width_;
  std::uint32_t row_count_;
  std::vector<float> rows_;
  std::array<std::vector<Class>, kWritings> classes_;
  std::vector<float> sum_;
  std::vector<float> gradient_;
  std::vector<float> probabilities_;
};

void check(const std::vector<LanguageText>& texts, const LearnDetectorOptions& options) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw Error(ErrorCode::kInvalidArgument, message);
  };
  std::set<std::string_view> languages;
  for (const LanguageText& text : texts) {
    require(is_language_code(text.language),
            fmt::format("language {}: must be a code of at most {} letters, digits and -", core::quote(text.language),
                        kMaxLanguageName));
    require(languages.insert(text.language).second, fmt::format("language {} twice", text.language));
  }
  require(texts.size() >= 2, "a detector needs the texts of at least two languages");
  require(options.rows >= 1024 && options.rows <= 1U << 24,
          fmt::format("`rows` {}: must be 1024 to 16777216", options.rows));
  require(options.width >= 2 && options.width <= 256, fmt::format("`width` {}: must be 2 to 256", options.width));
  require(options.steps > 0, "`steps` 0: must be at least 1");
  require(options.learning_rate > 0 && options.learning_rate <= 10,
          fmt::format("`learning_rate` {}: must be over 0, at most 10", options.learning_rate));
}

}  // namespace

void learn_detector(const std::vector<LanguageText>& texts, const std::filesystem::path& output,
                    const LearnDetectorOptions& options, const core::ProgressSink& progress,
                    const std::stop_token& stop) {
  check(texts, options);
  const core::StopScope scope(stop);
  core::OutputFile file(output, {.partial = core::PartialPolicy::kTemporary, .stop = stop});
  Sampler sampler(texts, stop);
  Random random(options.seed);
  Learner learner(options, sampler, random);
  constexpr std::uint64_t kReported = 1 << 17;
  double loss = 0;
  std::vector<std::uint32_t> features;
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    core::check_stop("learning a detector; nothing was written");
    const double left = 1 - static_cast<double>(step) / static_cast<double>(options.steps);
    const Sample sample = sampler.draw(random, features);
    loss += learner.step(sample.writing, sample.index, features, static_cast<float>(options.learning_rate * left));
    if ((step + 1) % kReported != 0 && step + 1 != options.steps) continue;
    core::report(progress, {.stage = "learn",
                            .done = step + 1,
                            .total = options.steps,
                            .unit = "steps",
                            .figures = {{"loss", loss / static_cast<double>(step % kReported + 1)}}});
    loss = 0;
  }
  std::vector<std::string> languages;
  for (const LanguageText& text : texts) languages.push_back(text.language);
  file.write(DetectorTable::bytes(learner.parts(languages)));
  file.commit();
}

}  // namespace dragoman::detection
