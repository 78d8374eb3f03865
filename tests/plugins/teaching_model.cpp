#include "teaching_model.h"

#include <atomic>
#include <cmath>
#include <map>

#include <dragoman/autograd/tape.h>
#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/nn/constant.h>
#include <dragoman/nn/layers.h>
#include <dragoman/nn/positions.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/slice.h>

namespace dragoman::testing {
namespace {

using nn::Scope;
using nn::Variable;
using tensor::Context;
using tensor::Tensor;

// --- an op of its own: y = x / 2 ---

struct HalveArguments {
  Tensor x;
  Tensor y;
};
constexpr tensor::KernelKey<void(Context&, const HalveArguments&)> kHalve{"teaching.halve"};
constexpr tensor::KernelKey<void(Context&, const HalveArguments&)> kHalveBadly{"teaching.halve_badly"};

template <class Float>
void multiply_by(const HalveArguments& arguments, Float factor) {
  for (std::int64_t i = 0; i < arguments.x.rows; ++i)
    for (std::int64_t j = 0; j < arguments.x.cols; ++j)
      arguments.y.row<Float>(i)[j] = factor * arguments.x.row<Float>(i)[j];
}

void halve_cpu(Context&, const HalveArguments& arguments) {
  multiply_by(arguments, 0.5F);
}
void halve_badly_cpu(Context&, const HalveArguments& arguments) {
  multiply_by(arguments, 0.51F);
}
void halve_reference(Context&, const HalveArguments& arguments) {
  multiply_by(arguments, 0.5);
}

/// The derivative is 1/2; with `backward_factor` 1 it is forgotten.
Variable halve(Context& context, const Variable& x, bool badly, double backward_factor) {
  const bool record = autograd::recording(context, x);
  const Variable y = autograd::make_variable(context, context.allocate(x.value.rows, x.value.cols), record);
  context.kernels().get(badly ? kHalveBadly : kHalve)(context, {x.value, y.value});
  if (record)
    autograd::record(context, y.gradient, [=](Context& ctx) {
      const autograd::GradientTarget dx = autograd::target_of(ctx, *x.gradient);
      ctx.kernels().get(ops::kScale)(ctx, {y.gradient->value, backward_factor, dx.value, dx.accumulate});
    });
  return y;
}

double drawn_once_per_model() {
  static std::atomic<int> models{0};
  return 0.01 * ++models;
}

class TeachingModel final : public nn::Seq2SeqModel {
 public:
  TeachingModel(const nn::SequenceSpec& spec, std::int64_t width, Fault fault)
      : Seq2SeqModel(spec),
        fault_(fault),
        width_(width),
        source_table_(table("source", spec.source_vocabulary)),
        target_table_(table("target", spec.target_vocabulary)),
        output_(table("output", spec.target_vocabulary)),
        output_bias_((root() / "output").vector("bias", spec.target_vocabulary, nn::Initialiser::constant(0))),
        encoder_(root() / "encoder", width, width),
        qkv_(root() / "self_attention", width, 3 * width, {.projections = 3}),
        history_(mutable_layout().add_history(width)),
        cell_in_(root() / "cell", width, width),
        cell_(mutable_layout().add_row_state(width)),
        q_(root() / "cross_attention" / "q", width, width),
        kv_(root() / "cross_attention" / "kv", width, 2 * width, {.projections = 2}),
        memory_(mutable_layout().add_memory(width)),
        norm_(root() / "norm", width, 1e-5),
        positions_(spec.maximum_target_length + 1, width, [=] {
          return nn::sinusoidal_positions(nn::PositionKind::kInterleaved, spec.maximum_target_length + 1, width);
        }) {
    if (is(Fault::kUnusedParameter)) (root() / "idle").vector("bias", width, nn::Initialiser::constant(0));
    if (is(Fault::kAlignsElsewhere)) idle_memory_ = mutable_layout().add_memory(width);
    if (is(Fault::kUnsavedValue)) offset_ = drawn_once_per_model();
  }

  std::vector<nn::KeyValue> memories(Context& context, const nn::Encoding& encoding) const override {
    const auto [keys, values] = ops::split_columns<2>(context, kv_(context, encoding.states));
    std::vector<nn::KeyValue> result{{keys, values}};
    if (idle_memory_) result.push_back({keys, values});
    return result;
  }
  ops::Projection output() const override { return {output_.weight(), output_bias_.variable()}; }
  nn::AlignmentHeads alignment_heads() const override { return {idle_memory_.value_or(memory_), 2}; }
  core::Json config() const override {
    return is(Fault::kForgetfulConfig) ? core::Json::object() : core::Json{{"width", width_}};
  }

 protected:
  nn::Encoding run_encoder(Context& context, const nn::Sequences& source, bool) const override {
    nn::Encoding encoding;
    encoding.offsets = source.offsets;
    Variable x = embed(context, source_table_, source.tokens, source.positions);
    if (is(Fault::kBatchNormalisation)) x = without_batch_mean(context, x);
    encoding.states = encoder_(context, x, ops::Activation::kTanh);
    return encoding;
  }

  nn::Decoding run_decoder(Context& context, const nn::Sequences& next, nn::DecoderState& state, bool) const override {
    core::require(!is(Fault::kThrows), core::ErrorCode::kInternal, "planted: the step fails");
    Variable x = embed(context, target_table_, next.tokens, positions(context, next.host, state));
    if (!is(Fault::kForgetsHistory)) {
      x = ops::add(context, x, attend_to_history(context, x, state));
      x = ops::add(context, x, run_cell(context, cell_in_(context, x, ops::Activation::kTanh), next.host, state));
    }
    Variable from_source = state.attend_memory(context, memory_, q_(context, x), 2, 0);
    if (is(Fault::kIgnoresSource)) from_source = ops::scale(context, from_source, 0);
    x = ops::add(context, x, from_source);
    x = halve(context, x, is(Fault::kWrongCpuKernel), is(Fault::kWrongGradient) ? 1 : 0.5);
    if (is(Fault::kCounts)) x = ops::scale(context, x, 1 + 0.001 * ++calls_);
    return {norm_(context, x), {}};
  }

 private:
  bool is(Fault fault) const { return fault_ == fault; }
  Scope root() { return Scope(parameters()); }
  nn::Parameter& table(std::string_view name, std::int64_t vocabulary) {
    return (root() / name).matrix("weight", vocabulary, width_, nn::Initialiser::normal(0.4));
  }
  /// Teaching forcing has no row states to hand out.
  bool stepping(Context& context, const nn::DecoderState& state) const {
    return !state.previous(context, cell_).empty();
  }

  Variable embed(Context& context, const nn::Parameter& table, const ops::Indices& tokens,
                 const ops::Indices& positions) const {
    const bool scaled = !is(Fault::kScaleInTrainingOnly) || autograd::is_training(context);
    const double scale = (scaled ? std::sqrt(static_cast<double>(width_)) : 1) + offset_;
    Variable weights = table.variable();
    if (is(Fault::kDetachedParameter) && &table == &source_table_) weights.gradient = nullptr;
    return ops::embedding(context, tokens, weights, positions, {positions_.on(context), nullptr}, {.scale = scale});
  }

  ops::Indices positions(Context& context, const nn::RaggedTokens& next, const nn::DecoderState& state) const {
    const ops::Indices right = state.positions();
    const bool off_by_one = is(Fault::kPositionOffByOne) && stepping(context, state);
    if (!off_by_one && !is(Fault::kPrefixAtOnePosition)) return right;
    auto* wrong = static_cast<std::int32_t*>(context.host_arena().allocate(right.host.size() * sizeof(std::int32_t)));
    for (std::int64_t r = 0; r < next.batch(); ++r) {
      for (std::int32_t i = next.offsets[r]; i < next.offsets[r + 1]; ++i) {
        wrong[i] = right.host[static_cast<std::size_t>(i)] + (off_by_one ? 1 : 0);
        if (is(Fault::kPrefixAtOnePosition) && stepping(context, state))
          wrong[i] = right.host[static_cast<std::size_t>(next.offsets[r])];
      }
    }
    return context.indices({wrong, right.host.size()});
  }

  Variable attend_to_history(Context& context, const Variable& x, nn::DecoderState& state) const {
    const auto [q, k, v] = ops::split_columns<3>(context, qkv_(context, x));
    if (is(Fault::kSeesTheFuture) && !stepping(context, state))
      return ops::attention(context, q, k, v, state.row_offsets(), state.row_offsets(), {.heads = 2}).output;
    return state.attend_history(context, history_, q, k, v, 2, 0);
  }

  /// c_t = c_{t-1} / 2 + x_t within each row, token by token out of slices, so that the gradient comes by itself.
  Variable run_cell(Context& context, const Variable& x, const nn::RaggedTokens& next, nn::DecoderState& state) const {
    const Tensor before = state.previous(context, cell_);
    const Tensor latest = before.empty() ? Tensor{} : context.allocate(before.rows, before.cols);
    std::vector<ops::Placed> cells;
    for (std::int64_t r = 0; r < next.batch(); ++r) {
      Variable cell = before.empty() ? Variable{} : Variable{cell_before(before, r), nullptr};
      for (std::int64_t t = next.offsets[r]; t < next.offsets[r + 1]; ++t) {
        const Variable input = ops::slice(context, x, t, t + 1, 0, width_);
        cell = cell.empty() ? input : ops::add(context, ops::scale(context, cell, 0.5), input);
        cells.push_back({cell, t, 0});
      }
      if (!latest.empty())
        context.kernels().get(ops::kScale)(context, {cell.value, 1, latest.row_range(r, r + 1), false});
    }
    state.store(context, cell_, latest);
    if (is(Fault::kStateByRow) && !latest.empty()) keep_by_row(latest);
    return ops::assemble(context, x.value.rows, width_, cells);
  }

  /// With kStateByRow a row continues whatever was in the row of its number.
  Tensor cell_before(const Tensor& right, std::int64_t row) const {
    if (is(Fault::kStateByRow)) {
      const auto kept = rows_.find(row);
      bool fresh = true;
      for (std::int64_t j = 0; j < right.cols; ++j) fresh = fresh && tensor::element(right, row, j) == 0;
      for (std::int64_t j = 0; j < right.cols && !fresh && kept != rows_.end(); ++j)
        tensor::set_element(right, row, j, kept->second[static_cast<std::size_t>(j)]);
    }
    return right.row_range(row, row + 1);
  }
  void keep_by_row(const Tensor& latest) const {
    for (std::int64_t r = 0; r < latest.rows; ++r) {
      rows_[r].clear();
      for (std::int64_t j = 0; j < latest.cols; ++j) rows_[r].push_back(tensor::element(latest, r, j));
    }
  }

  Variable without_batch_mean(Context& context, const Variable& x) const {
    const std::int64_t rows = x.value.rows;
    const std::vector<float> minus_share(static_cast<std::size_t>(rows * rows), -1.0F / static_cast<float>(rows));
    const Variable average{tensor::copy_to_step(context, minus_share, rows, rows), nullptr};
    return ops::add(context, x, ops::matmul(context, average, x));
  }

  Fault fault_;
  std::int64_t width_;
  double offset_ = 0;
  nn::Parameter& source_table_;
  nn::Parameter& target_table_;
  nn::Parameter& output_;
  nn::Parameter& output_bias_;
  nn::Linear encoder_;
  nn::Linear qkv_;
  nn::HistoryId history_;
  nn::Linear cell_in_;
  nn::RowStateId cell_;
  nn::Linear q_;
  nn::Linear kv_;
  nn::MemoryId memory_;
  std::optional<nn::MemoryId> idle_memory_;
  nn::LayerNorm norm_;
  nn::Constant positions_;
  mutable int calls_ = 0;
  mutable std::map<std::int64_t, std::vector<double>> rows_;
};

}  // namespace

const std::vector<Fault>& all_faults() {
  static const std::vector<Fault> faults = [] {
    std::vector<Fault> list;
    for (int i = static_cast<int>(Fault::kWrongGradient); i <= static_cast<int>(Fault::kThrows); ++i)
      list.push_back(static_cast<Fault>(i));
    return list;
  }();
  return faults;
}

std::string name_of(Fault fault) {
  static const char* const names[] = {"None",
                                      "WrongGradient",
                                      "DetachedParameter",
                                      "UnusedParameter",
                                      "PositionOffByOne",
                                      "PrefixAtOnePosition",
                                      "BatchNormalisation",
                                      "StateByRow",
                                      "SeesTheFuture",
                                      "IgnoresSource",
                                      "ForgetsHistory",
                                      "ScaleInTrainingOnly",
                                      "Counts",
                                      "UnsavedValue",
                                      "ForgetfulConfig",
                                      "AlignsElsewhere",
                                      "WrongCpuKernel",
                                      "Throws"};
  return names[static_cast<int>(fault)];
}

plugins::ModelEntry teaching_model(Fault fault) {
  return {.name = "teaching-" + name_of(fault),
          .summary = "a small model with a planted fault",
          .make = [fault](const nn::SequenceSpec& spec, const core::Json& config) -> std::unique_ptr<nn::Seq2SeqModel> {
            core::OptionReader options(config, "model");
            const auto width = options.get("width", std::int64_t{6});
            options.finish();
            return std::make_unique<TeachingModel>(spec, width, fault);
          },
          .example = {{"width", 8}}};
}

void add_teaching_kernels(plugins::Registrar& registrar) {
  registrar.add_kernel("cpu", kHalve, halve_cpu);
  registrar.add_kernel("reference", kHalve, halve_reference);
  registrar.add_kernel("cpu", kHalveBadly, halve_badly_cpu);
  registrar.add_kernel("reference", kHalveBadly, halve_reference);
}

}  // namespace dragoman::testing
