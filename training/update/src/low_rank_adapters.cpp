#include "dragoman/training/low_rank_adapters.h"

#include "configuration/parameter_patterns.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::training {
namespace {

using nn::Initialiser;
using nn::Parameter;
using tensor::Context;
using tensor::Tensor;

void multiply(Context& context, const ops::MatMulArguments& arguments) {
  context.kernels().get(ops::kMatMul)(context, arguments);
}

/// Allocates the result in step memory.
Tensor scaled(Context& context, const Tensor& x, double factor) {
  const Tensor y = context.allocate(x.rows, x.cols);
  context.kernels().get(ops::kScale)(context, {x, factor, y});
  return y;
}

/// Returns part `number` of `count` equal parts of a matrix's rows.
Tensor share(const Tensor& matrix, std::int64_t number, std::int64_t count) {
  const std::int64_t rows = matrix.rows / count;
  return matrix.row_range(number * rows, (number + 1) * rows);
}

}  // namespace

LowRankAdapters::LowRankAdapters(const LoraConfig& config, nn::ParameterStore& model, tensor::DeviceMemory& memory)
    : scale_(config.alpha / static_cast<double>(config.rank)), model_(&model) {
  core::require(config.rank > 0, core::ErrorCode::kInvalidArgument, "adapters have a rank of at least 1");
  const std::vector<Parameter*> weights = adapted_weights(config, model);
  for (Parameter& parameter : model.all()) parameter.frozen = std::ranges::find(weights, &parameter) == weights.end();
  for (Parameter* const weight : weights) {
    // As in torch.nn.Linear, the initialisation of PEFT. B is zero, so that the model initially computes the same.
    const double bound = 1 / std::sqrt(static_cast<double>(weight->cols));
    Parameter& a = adapters_.add(weight->name + std::string(kLoraA), weight->projections * config.rank, weight->cols, 2,
                                 {Initialiser::Kind::kUniform, bound});
    Parameter& b =
        adapters_.add(weight->name + std::string(kLoraB), weight->rows, config.rank, 2, Initialiser::constant(0));
    Parameter& base = base_.add(weight->name, weight->rows, weight->cols, 2, Initialiser::constant(0));
    adapted_.push_back({.weight = weight, .a = &a, .b = &b, .base = &base});
  }
  const Tensor flat = model.flat_values();
  adapters_.allocate(memory, flat.dtype, flat.device);
  base_.allocate(memory, flat.dtype, flat.device);
}

std::unique_ptr<nn::ParameterStore> LowRankAdapters::make_store() const {
  auto store = std::make_unique<nn::ParameterStore>();
  for (const Parameter& parameter : adapters_.all())
    store->add(parameter.name, parameter.rows, parameter.cols, parameter.rank, parameter.initialiser);
  const Tensor flat = adapters_.flat_values();
  store->allocate(adapters_.memory(), flat.dtype, flat.device);
  return store;
}

void LowRankAdapters::keep_base() {
  for (const Adapted& adapted : adapted_) tensor::copy(base_.memory(), adapted.base->value, adapted.weight->value);
}

void LowRankAdapters::merge(Context& context, const nn::ParameterStore& adapters, nn::ParameterStore& to) const {
  context.step([&] {
    for (const Adapted& adapted : adapted_) {
      const Parameter& weight = *to.find(adapted.weight->name);
      context.kernels().get(ops::kScale)(context, {adapted.base->value, 1, weight.value});
      const Tensor a = adapters.find(adapted.a->name)->value;
      const Tensor b = scaled(context, adapters.find(adapted.b->name)->value, scale_);
      const int count = adapted.weight->projections;
      for (int i = 0; i < count; ++i)
        multiply(
            context,
            {.a = share(b, i, count), .b = share(a, i, count), .c = share(weight.value, i, count), .accumulate = true});
    }
  });
}

void LowRankAdapters::make_gradients(Context& context) {
  context.step([&] {
    for (const Adapted& adapted : adapted_) {
      const Tensor& gradient = adapted.weight->gradient->value;
      const Tensor a = scaled(context, adapted.a->value, scale_), b = scaled(context, adapted.b->value, scale_);
      const int count = adapted.weight->projections;
      for (int i = 0; i < count; ++i) {
        const Tensor dw = share(gradient, i, count);
        multiply(
            context,
            {.a = share(b, i, count), .transpose_a = true, .b = dw, .c = share(adapted.a->gradient->value, i, count)});
        multiply(
            context,
            {.a = dw, .b = share(a, i, count), .transpose_b = true, .c = share(adapted.b->gradient->value, i, count)});
      }
      adapted.a->gradient->written = adapted.b->gradient->written = true;
    }
  });
}

std::vector<Parameter*> adapted_weights(const LoraConfig& config, nn::ParameterStore& model) {
  std::vector<Parameter*> weights;
  std::vector<std::string> names;
  for (Parameter& parameter : model.all()) {
    if (!parameter.is_weight || parameter.is_table) continue;
    names.push_back(parameter.name);
    const bool usual = config.targets.empty() && !is_output(parameter.name);
    if (usual || matches_any(config.targets, parameter.name)) weights.push_back(&parameter);
  }
  require_matches(config.targets, names, "lora.targets", "weight of a linear layer");
  core::require(!weights.empty(), core::ErrorCode::kBadInput,
                "training.lora: the model has no weights of linear layers that could be adapted");
  return weights;
}

}  // namespace dragoman::training
