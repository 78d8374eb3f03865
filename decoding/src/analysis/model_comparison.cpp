#include "dragoman/decoding/model_comparison.h"

#include "dragoman/decoding/ensemble.h"
#include "models/batch_pieces.h"
#include "models/forced_pass.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::decoding {
namespace {

/// Sums over rows from which a StateError is computed.
struct StateSums {
  double squared_difference = 0;
  double squared_reference = 0;
  double largest_difference = 0;
  double cosines = 0;
  std::int64_t rows = 0;
  std::int64_t numbers = 0;

  void add(const tensor::Tensor& x, const tensor::Tensor& reference) {
    core::require(x.rows == reference.rows && x.cols == reference.cols, core::ErrorCode::kInvalidArgument,
                  "comparison: a layer hands on {} numbers for a token, and {} in the reference", x.cols,
                  reference.cols);
    for (std::int64_t i = 0; i < x.rows; ++i) add_row(x, reference, i);
    rows += x.rows;
    numbers += x.rows * x.cols;
  }

  StateError error() const {
    if (numbers == 0) return {};
    const double norm = std::sqrt(squared_reference);
    const double scale = std::sqrt(squared_reference / static_cast<double>(numbers));
    return {.relative = ratio(std::sqrt(squared_difference), norm),
            .cosine = cosines / static_cast<double>(rows),
            .largest = ratio(largest_difference, scale)};
  }

 private:
  static double ratio(double difference, double size) { return difference == 0 ? 0 : difference / size; }

  void add_row(const tensor::Tensor& x, const tensor::Tensor& reference, std::int64_t row) {
    double own = 0;
    double expected = 0;
    double product = 0;
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const double a = tensor::element(x, row, j);
      const double b = tensor::element(reference, row, j);
      const double difference = std::abs(a - b);
      squared_difference += difference * difference;
      // The negated comparison keeps a NaN.
      if (!(difference <= largest_difference)) largest_difference = difference;
      own += a * a;
      expected += b * b;
      product += a * b;
    }
    squared_reference += expected;
    cosines += own == expected && own == product ? 1 : product / std::sqrt(own * expected);
  }
};

struct PredictionSums {
  double kl_divergence = 0;
  double largest_kl_divergence = 0;
  std::int64_t changed_best = 0;
  double log_probability = 0;
  double reference_log_probability = 0;
  std::int64_t rows = 0;

  void add(const tensor::Tensor& x, const tensor::Tensor& reference, std::span<const std::int32_t> labels) {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      double kl = 0;
      std::int64_t best = 0;
      std::int64_t best_of_reference = 0;
      for (std::int64_t v = 0; v < x.cols; ++v) {
        const double own = tensor::element(x, i, v);
        const double expected = tensor::element(reference, i, v);
        if (own > tensor::element(x, i, best)) best = v;
        if (expected > tensor::element(reference, i, best_of_reference)) best_of_reference = v;
        const double p = std::exp(expected);
        if (!(p == 0)) kl += p * (expected - own);
      }
      kl_divergence += kl;
      if (!(kl <= largest_kl_divergence)) largest_kl_divergence = kl;
      changed_best += best == best_of_reference ? 0 : 1;
      log_probability += tensor::element(x, i, labels[static_cast<std::size_t>(i)]);
      reference_log_probability += tensor::element(reference, i, labels[static_cast<std::size_t>(i)]);
    }
    rows += x.rows;
  }

  PredictionError error() const {
    if (rows == 0) return {};
    const auto count = static_cast<double>(rows);
    return {.kl_divergence = kl_divergence / count,
            .largest_kl_divergence = largest_kl_divergence,
            .changed_best = static_cast<double>(changed_best) / count,
            .cross_entropy = -log_probability / count,
            .reference_cross_entropy = -reference_log_probability / count};
  }
};

/// The states of a pass on the host, in the order of the layers.
struct PassView {
  struct Layer {
    bool of_decoder;
    int number;
    tensor::HostView states;
  };
  std::vector<Layer> layers;
  tensor::HostView log_probabilities;

  PassView(tensor::Context& context, const ForcedPass& pass)
      : log_probabilities(tensor::HostView::of(context.memory(), pass.log_probabilities)) {
    add(context, false, pass.encoding.layers, pass.encoding.states);
    add(context, true, pass.decoding.layers, pass.decoding.states);
  }

 private:
  void add(tensor::Context& context, bool of_decoder, const std::vector<nn::Variable>& of_layers,
           const nn::Variable& final_states) {
    for (std::size_t i = 0; i < of_layers.size(); ++i)
      layers.push_back({of_decoder, static_cast<int>(i), tensor::HostView::of(context.memory(), of_layers[i].value)});
    layers.push_back({of_decoder, LayerError::kFinal, tensor::HostView::of(context.memory(), final_states.value)});
  }
};

struct LayerSums {
  bool of_decoder;
  int number;
  StateSums sums;
};

struct ComparisonSums {
  std::vector<LayerSums> layers;
  PredictionSums predictions;

  void add(const PassView& pass, const PassView& reference, std::span<const std::int32_t> labels) {
    if (layers.empty())
      for (const PassView::Layer& layer : reference.layers) layers.push_back({layer.of_decoder, layer.number, {}});
    core::require(pass.layers.size() == layers.size(), core::ErrorCode::kInvalidArgument,
                  "comparison: a model shows {} layers, and the reference {}", pass.layers.size(), layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i)
      layers[i].sums.add(pass.layers[i].states.tensor(), reference.layers[i].states.tensor());
    predictions.add(pass.log_probabilities.tensor(), reference.log_probabilities.tensor(), labels);
  }
};

}  // namespace

struct ModelComparator::Impl {
  Computation reference;
  std::vector<Computation> others;
  std::vector<ComparisonSums> sums;
  std::int64_t source_tokens = 0;
  std::int64_t target_tokens = 0;
};

ModelComparator::ModelComparator(Computation reference, std::vector<Computation> others)
    : impl_(std::make_unique<Impl>()) {
  Ensemble all{.models = {reference.model}};
  for (const Computation& other : others) all.models.push_back(other.model);
  all.spec();
  impl_->sums.resize(others.size());
  impl_->reference = reference;
  impl_->others = std::move(others);
}

ModelComparator::~ModelComparator() = default;
ModelComparator::ModelComparator(ModelComparator&&) noexcept = default;
ModelComparator& ModelComparator::operator=(ModelComparator&&) noexcept = default;

void ModelComparator::read(const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets,
                           std::int64_t piece_tokens) {
  const nn::SequenceSpec& spec = impl_->reference.model->spec();
  core::require(sources.batch() == targets.batch(), core::ErrorCode::kInvalidArgument,
                "comparison: {} sources but {} targets", sources.batch(), targets.batch());
  tensor::check_ragged(sources, spec.source_vocabulary);
  tensor::check_ragged(targets, spec.target_vocabulary);
  for_each_piece(sources, targets, piece_tokens,
                 [&](const tensor::RaggedTokens& some, const tensor::RaggedTokens& own) {
                   const ForcedTargets forced(own, spec);
                   const auto pass = [&](const Computation& with) {
                     return PassView(*with.context, forced_pass(*with.model, *with.context, some, forced, true));
                   };
                   const PassView expected = pass(impl_->reference);
                   for (std::size_t i = 0; i < impl_->others.size(); ++i)
                     impl_->sums[i].add(pass(impl_->others[i]), expected, forced.labels);
                   impl_->source_tokens += some.total();
                   impl_->target_tokens += static_cast<std::int64_t>(forced.labels.size());
                 });
}

std::int64_t ModelComparator::source_tokens() const noexcept {
  return impl_->source_tokens;
}

std::int64_t ModelComparator::target_tokens() const noexcept {
  return impl_->target_tokens;
}

std::vector<ModelComparison> ModelComparator::result() const {
  std::vector<ModelComparison> results;
  for (const ComparisonSums& sums : impl_->sums) {
    ModelComparison& result = results.emplace_back();
    for (const LayerSums& layer : sums.layers)
      result.layers.push_back({layer.of_decoder, layer.number, layer.sums.error()});
    result.predictions = sums.predictions.error();
  }
  return results;
}

}  // namespace dragoman::decoding
