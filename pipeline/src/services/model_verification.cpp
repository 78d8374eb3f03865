#include "dragoman/pipeline/model_verification.h"

#include "dragoman/pipeline/translator.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/model_reference.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/plugins/model_reference.h>

namespace dragoman::pipeline {
namespace {

using formats::ModelFiles;
using formats::ReferenceSentence;
using std::filesystem::path;

/// Double precision takes about one second per ten million parameters.
constexpr std::int64_t kMaxParametersInDouble = std::int64_t{1} << 27;

class Verifier {
 public:
  Verifier(const path& model, plugins::Host& host, const VerifyModelOptions& options)
      : path_(model), host_(host), options_(options), opened_(host.open_model(model)) {}

  ModelVerification verify() && {
    if (opened_->is_model_folder())
      read_reference();
    else
      compute_reference();
    compare();
    return std::move(found_);
  }

 private:
  void read_reference() {
    found_.against = ModelFiles::kReference;
    const formats::ModelConfig& config = opened_->config();
    formats::ModelReference reference = formats::load_model_reference(path_, config.sequences);
    found_.rounded_weights = config.compute.value_or(tensor::ComputeChoice::kF32) != tensor::ComputeChoice::kF32;
    const auto differences =
        formats::find_changed_weights(reference, formats::SafetensorsFile::open(path_ / ModelFiles::kWeights));
    found_.compared_weights = differences.compared;
    found_.changed_weights = differences.names;
    constexpr std::size_t kShown = 4;
    if (const auto& names = differences.names; !names.empty())
      fault("{} of {} weights have other values than those that were imported: {}{}", names.size(),
            differences.compared, fmt::join(names.begin(), names.begin() + std::min(names.size(), kShown), ", "),
            names.size() > kShown ? ", ..." : "");
    sentences_ = std::move(reference.sentences);
    switch (config.compute.value_or(tensor::ComputeChoice::kF32)) {
      case tensor::ComputeChoice::kBF16:
        allow(tensor::ComputeType::kBF16);
        break;
      case tensor::ComputeChoice::kF16:
        allow(tensor::ComputeType::kF16);
        break;
      case tensor::ComputeChoice::kI8:
        allow(tensor::ComputeType::kI8);
        break;
      default:
        break;
    }
  }

  void compute_reference() {
    found_.against = "double precision";
    // Counted on a model without weights: with weights in double precision it may not fit into memory.
    const std::int64_t parameters = plugins::count_parameters(*opened_, host_);
    core::require(parameters <= kMaxParametersInDouble, core::ErrorCode::kUnsupported,
                  "{}: has {} parameters, and with more than {} double precision takes minutes; convert it to a model "
                  "folder, which keeps a reference to be verified with",
                  path_.string(), parameters, kMaxParametersInDouble);
    const Model exact(
        path_, host_,
        {.threads = options_.threads, .device = tensor::Device::kReference, .compute = tensor::ComputeChoice::kF32});
    const ModelView view = exact.view();
    sentences_ =
        plugins::draw_reference_sentences(*view.model, *view.source_tokenizer, *view.target_tokenizer,
                                          view.languages == nullptr ? formats::LanguageTable{} : *view.languages);
    read_all(exact, sentences_);
  }

  void read_all(const Model& model, std::vector<ReferenceSentence>& sentences) {
    const auto executor = core::make_executor(options_.threads);
    const auto context = host_.runtime().make_context(model.device(), *executor);
    for (ReferenceSentence& sentence : sentences)
      plugins::read_reference_sentence(*model.view().model, *context, sentence, options_.stop);
  }

  void compare() {
    const Model model(path_, host_, {.threads = options_.threads, .compute = options_.compute});
    found_.compute = tensor::name_of(model.compute_type());
    allow(model.compute_type());
    std::vector<ReferenceSentence> again = sentences_;
    read_all(model, again);
    found_.sentences = sentences_.size();
    if (sentences_.empty()) fault("{} has no sentences to compare with", found_.against);
    double sum = 0;
    for (std::size_t i = 0; i < again.size(); ++i) {
      sum += compare_probabilities(sentences_[i], again[i]);
      compare_greedy(i, sentences_[i], again[i]);
    }
    found_.mean_error = found_.tokens == 0 ? 0 : sum / static_cast<double>(found_.tokens);
    // Negated, so that NaN is a fault.
    if (!(found_.mean_error <= found_.bounds.mean))
      fault("log probabilities are off by {:.3g} on average, the bound is {:.3g}", found_.mean_error,
            found_.bounds.mean);
    if (!(found_.largest_error <= found_.bounds.largest))
      fault("a log probability is off by {:.3g}, the bound is {:.3g}", found_.largest_error, found_.bounds.largest);
  }

  /// Returns the sum of the errors.
  double compare_probabilities(const ReferenceSentence& wanted, const ReferenceSentence& got) {
    double sum = 0;
    for (std::size_t i = 0; i < wanted.log_probabilities.size(); ++i) {
      const double value = wanted.log_probabilities[i];
      const double error = std::abs(got.log_probabilities[i] - value) / (1 + std::abs(value));
      sum += error;
      found_.largest_error = std::isfinite(error) ? std::max(found_.largest_error, error) : error;
      ++found_.tokens;
      if (!std::isfinite(error)) return error;
    }
    return sum;
  }

  void compare_greedy(std::size_t number, const ReferenceSentence& wanted, const ReferenceSentence& got) {
    const auto [place, other] = std::ranges::mismatch(wanted.greedy, got.greedy);
    if (place == wanted.greedy.end() && other == got.greedy.end()) {
      ++found_.equal_translations;
      return;
    }
    const auto at = static_cast<std::size_t>(place - wanted.greedy.begin());
    if (at < wanted.margins.size() && wanted.margins[at] <= found_.bounds.margin) {
      ++found_.near_ties;
      return;
    }
    fault(
        "the greedy translation of sentence {} parts from the reference at token {}, where the best one leads by "
        "{:.3g}",
        number, at, at < wanted.margins.size() ? wanted.margins[at] : 0);
  }

  void allow(tensor::ComputeType type) {
    const VerificationBounds bounds = verification_bounds(type);
    if (bounds.mean > found_.bounds.mean) found_.bounds = bounds;
  }

  template <class... Args>
  void fault(fmt::format_string<Args...> format, Args&&... args) {
    found_.faults.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const path& path_;
  plugins::Host& host_;
  const VerifyModelOptions& options_;
  /// Keeps the opened model, so that models that are loaded from it do not open it again.
  std::shared_ptr<formats::OpenedModel> opened_;
  std::vector<ReferenceSentence> sentences_;
  ModelVerification found_;
};

}  // namespace

VerificationBounds verification_bounds(tensor::ComputeType type) {
  switch (type) {
    case tensor::ComputeType::kF32:
      return {.mean = 2e-5, .largest = 2e-4, .margin = 2e-3};
    case tensor::ComputeType::kBF16:
      return {.mean = 0.02, .largest = 0.2, .margin = 1};
    case tensor::ComputeType::kF16:  // three bits more precision
      return {.mean = 0.0025, .largest = 0.025, .margin = 0.125};
    case tensor::ComputeType::kI8:
    case tensor::ComputeType::kI8Narrow:
      return {.mean = 0.05, .largest = 0.5, .margin = 2};
  }
  return {};
}

bool has_model_reference(const path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / ModelFiles::kReference, ignored);
}

ModelVerification verify_model(const path& model, plugins::Host& host, const VerifyModelOptions& options) {
  return Verifier(model, host, options).verify();
}

}  // namespace dragoman::pipeline
