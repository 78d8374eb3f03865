// Speed of the CPU kernels at the sizes of a small Transformer (d_model 128, 4 heads, 6000 tokens, batches of 2000
// tokens in sentences of 15) and of its beam search. Each benchmark first compares its answer with the reference
// backend's, in double precision on the same numbers.
//
//   ops_bench --benchmark_filter=attention
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include <dragoman/backend_cpu/install.h>
#include <dragoman/backend_reference/install.h>
#include <dragoman/core/random.h>
#include <dragoman/ops/adam.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/ops/softmax_cross_entropy.h>

namespace {

using namespace dragoman;  // NOLINT: a program of its own
using tensor::Tensor;

constexpr std::int64_t kTokens = 2000;
constexpr std::int64_t kWidth = 128;
constexpr std::int64_t kFeedForward = 512;
constexpr std::int64_t kVocabulary = 6000;
constexpr int kHeads = 4;
constexpr std::int32_t kSentence = 15;
constexpr double kDropout = 0.1;
constexpr tensor::RandomKey kRandomKey{1, 2};
constexpr tensor::RandomState kRandom{&kRandomKey, 3};

template <class T>
tensor::DeviceArray<T> array(const std::vector<T>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size())};
}

Tensor doubles(std::vector<double>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {values.data(), 1, count, count, tensor::DType::kF64, tensor::Device::kCpu};
}

/// One backend with its memory; the same code runs on both.
class Machine {
 public:
  Machine(tensor::Device device, tensor::DType type)
      : table_(device), context_(table_, tensor::host_memory(), type, executor_) {
    if (device == tensor::Device::kCpu)
      backend::cpu::install_kernels(table_);
    else
      backend::reference::install_kernels(table_);
  }

  tensor::Context& context() { return context_; }
  template <class Key, class Arguments>
  auto run(Key key, const Arguments& arguments) {
    return table_.get(key)(context_, arguments);
  }
  template <class Key>
  bool has(Key key) const {
    return table_.find(key) != nullptr;
  }
  /// A matrix of standard normal numbers, the same on both backends.
  Tensor random(std::int64_t rows, std::int64_t cols) {
    const Tensor result = context_.allocate(rows, cols);
    ++stream_;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols; ++c) {
        const auto index = static_cast<std::uint64_t>(r * cols + c);
        tensor::set_element(result, r, c,
                            static_cast<double>(static_cast<float>(core::random_normal(1, stream_, index))));
      }
    return result;
  }

 private:
  core::SequentialExecutor executor_;
  tensor::KernelTable table_;
  tensor::Context context_;
  std::uint64_t stream_ = 0;
};

/// One kernel call with its operands made on a machine; gives the tensors that it computes.
class Work {
 public:
  virtual ~Work() = default;
  virtual void run(Machine& machine) = 0;
  virtual std::vector<Tensor> results() const = 0;
  virtual double flops() const { return 0; }
};

void check_same(const Tensor& actual, const Tensor& expected, const std::string& name) {
  for (std::int64_t r = 0; r < actual.rows; ++r)
    for (std::int64_t c = 0; c < actual.cols; ++c) {
      const double a = tensor::element(actual, r, c);
      const double e = tensor::element(expected, r, c);
      if (std::abs(a - e) <= 3e-4 * (1 + std::abs(e))) continue;
      std::fprintf(stderr, "%s computes %g where %g is right, at (%ld, %ld)\n", name.c_str(), a, e,
                   static_cast<long>(r), static_cast<long>(c));
      std::exit(1);
    }
}

template <class W>
void measure(benchmark::State& state, const std::string& name) {
  static bool checked = false;
  Machine cpu(tensor::Device::kCpu, tensor::DType::kF32);
  W work(cpu);
  if (!checked) {
    Machine reference(tensor::Device::kReference, tensor::DType::kF64);
    W oracle(reference);
    work.run(cpu);
    oracle.run(reference);
    const std::vector<Tensor> actual = work.results();
    const std::vector<Tensor> expected = oracle.results();
    for (std::size_t i = 0; i < actual.size(); ++i) check_same(actual[i], expected[i], name);
    checked = true;
  }
  for (auto _ : state) work.run(cpu);
  if (work.flops() > 0)
    state.counters["GFLOP/s"] = benchmark::Counter(work.flops() * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

template <std::int64_t kOutputs, std::int64_t kInputs>
class LinearForward : public Work {
 public:
  explicit LinearForward(Machine& m)
      : x_(m.random(kTokens, kInputs)),
        weight_(m.random(kOutputs, kInputs)),
        bias_(m.random(1, kOutputs)),
        y_(m.random(kTokens, kOutputs)) {}
  void run(Machine& m) override {
    m.run(ops::kLinear, ops::LinearArguments{
                            .x = x_, .weight = weight_, .bias = bias_, .activation = ops::Activation::kRelu, .y = y_});
  }
  std::vector<Tensor> results() const override { return {y_}; }
  double flops() const override { return 2.0 * kTokens * kOutputs * kInputs; }

 private:
  Tensor x_, weight_, bias_, y_;
};

class WeightGradient : public Work {
 public:
  explicit WeightGradient(Machine& m)
      : dy_(m.random(kTokens, kFeedForward)), x_(m.random(kTokens, kWidth)), dw_(m.random(kFeedForward, kWidth)) {}
  void run(Machine& m) override { m.run(ops::kMatMul, ops::MatMulArguments{dy_, true, x_, false, dw_, false}); }
  std::vector<Tensor> results() const override { return {dw_}; }
  double flops() const override { return 2.0 * kTokens * kFeedForward * kWidth; }

 private:
  Tensor dy_, x_, dw_;
};

/// The packed form at the row count of a beam search.
class LinearPacked : public Work {
 public:
  static constexpr std::int64_t kRows = 64;
  explicit LinearPacked(Machine& m)
      : x_(m.random(kRows, kWidth)), bias_(m.random(1, kFeedForward)), y_(m.random(kRows, kFeedForward)) {
    packed_ = m.context().kernels().get(ops::kPackWeight)(m.context(), m.random(kFeedForward, kWidth),
                                                          tensor::ComputeType::kF32);
  }
  void run(Machine& m) override {
    m.run(ops::kLinear,
          ops::LinearArguments{
              .x = x_, .packed = packed_.get(), .bias = bias_, .activation = ops::Activation::kRelu, .y = y_});
  }
  std::vector<Tensor> results() const override { return {y_}; }
  double flops() const override { return 2.0 * kRows * kFeedForward * kWidth; }

 private:
  Tensor x_, bias_, y_;
  std::unique_ptr<tensor::PackedWeight> packed_;
};

class ColumnSum : public Work {
 public:
  explicit ColumnSum(Machine& m) : x_(m.random(kTokens, kFeedForward)), y_(m.random(1, kFeedForward)) {}
  void run(Machine& m) override { m.run(ops::kColumnSum, ops::ColumnSumArguments{x_, y_}); }
  std::vector<Tensor> results() const override { return {y_}; }

 private:
  Tensor x_, y_;
};

class Dropout : public Work {
 public:
  explicit Dropout(Machine& m) : x_(m.random(kTokens, kFeedForward)), y_(m.random(kTokens, kFeedForward)) {}
  void run(Machine& m) override { m.run(ops::kDropout, ops::DropoutArguments{x_, kDropout, kRandom, y_}); }
  std::vector<Tensor> results() const override { return {y_}; }

 private:
  Tensor x_, y_;
};

class Gelu : public Work {
 public:
  explicit Gelu(Machine& m) : x_(m.random(kTokens, kFeedForward)), y_(m.random(kTokens, kFeedForward)) {}
  void run(Machine& m) override { m.run(ops::kActivation, ops::ActivationArguments{x_, ops::Activation::kGelu, y_}); }
  std::vector<Tensor> results() const override { return {y_}; }

 private:
  Tensor x_, y_;
};

class ResidualNorm : public Work {
 public:
  explicit ResidualNorm(Machine& m)
      : residual_(m.random(kTokens, kWidth)),
        x_(m.random(kTokens, kWidth)),
        gain_(m.random(1, kWidth)),
        bias_(m.random(1, kWidth)),
        sum_(m.random(kTokens, kWidth)),
        y_(m.random(kTokens, kWidth)),
        mean_(m.random(kTokens, 1)),
        deviation_(m.random(kTokens, 1)) {}
  void run(Machine& m) override {
    if (m.has(ops::kResidualLayerNorm)) {
      m.run(ops::kResidualLayerNorm, ops::ResidualLayerNormArguments{residual_, x_, kDropout, kRandom, gain_, bias_,
                                                                     1e-5, sum_, y_, mean_, deviation_});
      return;
    }
    m.run(ops::kDropout, ops::DropoutArguments{x_, kDropout, kRandom, sum_});
    m.run(ops::kAdd, ops::AddArguments{residual_, sum_, sum_});
    m.run(ops::kLayerNorm, ops::LayerNormArguments{sum_, gain_, bias_, 1e-5, y_, mean_, deviation_});
  }
  std::vector<Tensor> results() const override { return {sum_, y_}; }

 protected:
  Tensor residual_, x_, gain_, bias_, sum_, y_, mean_, deviation_;
};

class ResidualNormBackward final : public ResidualNorm {
 public:
  explicit ResidualNormBackward(Machine& m)
      : ResidualNorm(m),
        dy_(m.random(kTokens, kWidth)),
        dsum_(m.random(kTokens, kWidth)),
        dresidual_(m.random(kTokens, kWidth)),
        dx_(m.random(kTokens, kWidth)),
        dgain_(m.random(1, kWidth)),
        dbias_(m.random(1, kWidth)) {
    ResidualNorm::run(m);
  }
  void run(Machine& m) override {
    if (m.has(ops::kResidualLayerNormBackward)) {
      m.run(ops::kResidualLayerNormBackward, ops::ResidualLayerNormBackwardArguments{sum_,
                                                                                     gain_,
                                                                                     mean_,
                                                                                     deviation_,
                                                                                     kDropout,
                                                                                     kRandom,
                                                                                     dy_,
                                                                                     dsum_,
                                                                                     {dresidual_, false},
                                                                                     {dx_, false},
                                                                                     {dgain_, false},
                                                                                     {dbias_, false}});
      return;
    }
    m.run(ops::kScale, ops::ScaleArguments{dsum_, 1, dresidual_});
    m.run(ops::kLayerNormBackward,
          ops::LayerNormBackwardArguments{
              sum_, gain_, mean_, deviation_, dy_, {dresidual_, true}, {dgain_, false}, {dbias_, false}});
    m.run(ops::kDropout, ops::DropoutArguments{dresidual_, kDropout, kRandom, dx_});
  }
  std::vector<Tensor> results() const override { return {dresidual_, dx_, dgain_, dbias_}; }

 private:
  Tensor dy_, dsum_, dresidual_, dx_, dgain_, dbias_;
};

class Attention : public Work {
 public:
  explicit Attention(Machine& m) {
    for (std::int64_t b = 0; b * kSentence < kTokens; ++b) {
      offsets_.push_back(static_cast<std::int32_t>(b) * kSentence);
      weights_.push_back(b * kHeads * kSentence * kSentence);
    }
    for (Tensor* operand : {&q_, &k_, &v_, &y_, &dy_, &dq_, &dk_, &dv_}) *operand = m.random(offsets_.back(), kWidth);
    probabilities_ = m.random(1, weights_.back());
  }
  void run(Machine& m) override { m.run(ops::kAttention, forward()); }
  std::vector<Tensor> results() const override { return {y_, probabilities_}; }

 protected:
  ops::AttentionArguments forward() const {
    const ops::DeviceIndices offsets = array(offsets_);
    return {q_, k_, v_, offsets, offsets, kHeads, false, kDropout, kRandom, probabilities_, y_};
  }

  std::vector<std::int32_t> offsets_;
  std::vector<std::int64_t> weights_;
  Tensor q_, k_, v_, y_, dy_, dq_, dk_, dv_, probabilities_;
};

class AttentionBackward final : public Attention {
 public:
  explicit AttentionBackward(Machine& m) : Attention(m) { Attention::run(m); }
  void run(Machine& m) override {
    m.run(ops::kAttentionBackward,
          ops::AttentionBackwardArguments{forward(), dy_, {dq_, false}, {dk_, false}, {dv_, false}});
  }
  std::vector<Tensor> results() const override { return {dq_, dk_, dv_}; }
};

/// 64 hypotheses with 30 keys each.
class CachedAttention final : public Work {
 public:
  static constexpr std::int64_t kRows = 64;
  static constexpr std::int32_t kKeys = 30;
  explicit CachedAttention(Machine& m)
      : q_(m.random(kRows, kWidth)),
        k_(m.random(kRows * kKeys, kWidth)),
        v_(m.random(kRows * kKeys, kWidth)),
        y_(m.random(kRows, kWidth)) {
    for (std::int32_t r = 0; r < kRows; ++r) ranges_.push_back({r * kKeys, kKeys});
    for (std::int32_t row = 0; row < kRows * kKeys; ++row) rows_.push_back(row);
  }
  void run(Machine& m) override {
    m.run(ops::kCachedAttention,
          ops::CachedAttentionArguments{q_, k_, v_, array(rows_), array(ranges_), kKeys, kHeads, {}, y_});
  }
  std::vector<Tensor> results() const override { return {y_}; }

 private:
  Tensor q_, k_, v_, y_;
  std::vector<std::int32_t> rows_;
  std::vector<ops::KeyRange> ranges_;
};

class CrossEntropy final : public Work {
 public:
  static constexpr std::int64_t kRows = 256;
  explicit CrossEntropy(Machine& m)
      : source_(m.random(kRows, kVocabulary)), logits_(m.random(kRows, kVocabulary)), loss_(kRows), nll_(kRows) {
    for (std::int32_t r = 0; r < kRows; ++r) targets_.push_back(r * 23);
  }
  void run(Machine& m) override {
    m.run(ops::kScale,
          ops::ScaleArguments{source_, 1, logits_});  // the kernel works in place, so it needs fresh logits
    m.run(ops::kCrossEntropyRows,
          ops::CrossEntropyRowsArguments{logits_, array(targets_), 0.1, array(scale_), doubles(loss_), doubles(nll_)});
  }
  std::vector<Tensor> results() const override { return {logits_}; }

 private:
  Tensor source_, logits_;
  std::vector<std::int32_t> targets_;
  std::vector<double> loss_, nll_, scale_{1};
};

class EmbeddingBackward final : public Work {
 public:
  explicit EmbeddingBackward(Machine& m) : dy_(m.random(kTokens, kWidth)), dtable_(m.random(kVocabulary, kWidth)) {
    for (std::int32_t t = 0; t < kTokens; ++t) ids_.push_back(t * t % static_cast<std::int32_t>(kVocabulary));
  }
  void run(Machine& m) override {
    m.run(ops::kEmbeddingBackward,
          ops::EmbeddingBackwardArguments{array(ids_), 0, dy_, 11, kDropout, kRandom, {dtable_, false}});
  }
  std::vector<Tensor> results() const override { return {dtable_}; }

 private:
  Tensor dy_, dtable_;
  std::vector<std::int32_t> ids_;
};

/// The projection of a beam search of 16 sentences by 4 hypotheses.
template <bool kNoisy>
class ProjectTopK final : public Work {
 public:
  static constexpr std::int64_t kRows = 64;
  static constexpr std::int64_t kBest = 8;
  explicit ProjectTopK(Machine& m) : hidden_(m.random(kRows, kWidth)), bias_(m.random(1, kVocabulary)) {
    packed_ = m.context().kernels().get(ops::kPackWeight)(m.context(), m.random(kVocabulary, kWidth),
                                                          tensor::ComputeType::kF32);
    tokens_ = m.context().arena().allocate(kRows, kBest, tensor::DType::kI32, m.context().device());
    log_probabilities_ = m.random(kRows, kBest);
    for (std::uint64_t r = 0; kNoisy && r < kRows; ++r) noise_.push_back({1, r, 5});
  }
  void run(Machine& m) override {
    m.run(ops::kProjectTopK, ops::ProjectTopKArguments{.hidden = hidden_,
                                                       .packed = packed_.get(),
                                                       .bias = bias_,
                                                       .k = kBest,
                                                       .noise = array(noise_),
                                                       .tokens = tokens_,
                                                       .log_probabilities = log_probabilities_});
  }
  std::vector<Tensor> results() const override { return {log_probabilities_}; }
  double flops() const override { return 2.0 * kRows * kVocabulary * kWidth; }

 private:
  Tensor hidden_, bias_, tokens_, log_probabilities_;
  std::unique_ptr<tensor::PackedWeight> packed_;
  std::vector<ops::RowNoise> noise_;
};

class Adam final : public Work {
 public:
  static constexpr std::int64_t kParameters = 1'800'000;
  explicit Adam(Machine& m)
      : parameters_(m.random(1, kParameters)),
        gradients_(m.random(1, kParameters)),
        first_(m.random(1, kParameters)),
        second_(m.random(1, kParameters)) {
    m.run(ops::kMultiply, ops::MultiplyArguments{gradients_, gradients_, second_});
  }
  void run(Machine& m) override {
    m.run(ops::kAdam, ops::AdamArguments{.parameters = parameters_,
                                         .gradients = gradients_,
                                         .first_moment = first_,
                                         .second_moment = second_,
                                         .step = array(step_)});
  }
  std::vector<Tensor> results() const override { return {parameters_}; }

 private:
  Tensor parameters_, gradients_, first_, second_;
  std::vector<ops::UpdateStep> step_{{.learning_rate = 1e-3, .step = 10}};
};

template <class W>
void add(const std::string& name) {
  benchmark::RegisterBenchmark(name.c_str(), [name](benchmark::State& state) {
    measure<W>(state, name);
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("simd", backend::cpu::simd_level());
  add<LinearForward<kWidth, kWidth>>("linear/128x128");
  add<LinearForward<kFeedForward, kWidth>>("linear/512x128");
  add<LinearForward<kWidth, kFeedForward>>("linear/128x512");
  add<WeightGradient>("matmul/weight_gradient");
  add<LinearPacked>("linear/packed_64_rows");
  add<ColumnSum>("column_sum");
  add<Dropout>("dropout");
  add<Gelu>("activation/gelu");
  add<ResidualNorm>("residual_dropout_layer_norm");
  add<ResidualNormBackward>("residual_dropout_layer_norm_backward");
  add<Attention>("attention");
  add<AttentionBackward>("attention_backward");
  add<CachedAttention>("cached_attention/64x30");
  add<CrossEntropy>("cross_entropy/256x6000");
  add<EmbeddingBackward>("embedding_backward");
  add<ProjectTopK<false>>("project_top_k/64x6000");
  add<ProjectTopK<true>>("project_top_k/noise");
  add<Adam>("adam/1.8M");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
