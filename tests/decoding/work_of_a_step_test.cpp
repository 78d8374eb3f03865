#include "small_model.h"

#include <numeric>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/feed_forward.h>
#include <dragoman/ops/linear.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/transformer/transformer.h>

// That a search computes nothing twice: what is said of its results elsewhere would be true of a loop that runs the
// whole prefix again for each token.
namespace dragoman::decoding {
namespace {

using testing::SmallModel;

/// Hands everything on to another model and counts what it is asked for.
class CountingModel final : public nn::Seq2SeqModel {
 public:
  explicit CountingModel(const nn::Seq2SeqModel& model) : Seq2SeqModel(model.spec()), model_(&model) {
    mutable_layout() = model.state_layout();
  }
  std::vector<nn::KeyValue> memories(tensor::Context& context, const nn::Encoding& encoding) const override {
    ++memories_made;
    return model_->memories(context, encoding);
  }
  ops::Projection output() const override { return model_->output(); }
  core::Json config() const override { return model_->config(); }

  mutable std::vector<std::int64_t> encoded{};         ///< sentences of each call
  mutable std::int64_t memories_made = 0;              ///< calls
  mutable std::vector<std::int64_t> decoded_rows{};    ///< hypotheses of each call
  mutable std::vector<std::int64_t> decoded_tokens{};  ///< tokens of each call

 protected:
  nn::Encoding run_encoder(tensor::Context& context, const nn::Sequences& source, bool all_layers) const override {
    encoded.push_back(source.host.batch());
    return model_->encode(context, source, all_layers);
  }
  nn::Decoding run_decoder(tensor::Context& context, const nn::Sequences& next, nn::DecoderState& state,
                           bool all_layers) const override {
    decoded_rows.push_back(next.host.batch());
    decoded_tokens.push_back(next.tokens.size());
    return model_->decode(context, next, state, all_layers);
  }

 private:
  const nn::Seq2SeqModel* model_;
};

TEST(WorkOfAStep, SourcesAreEncodedOnceAndStepsTakeOneTokenPerRow) {
  SmallModel small;
  for (const char* strategy : {"greedy", "beam", "sampling"}) {
    const CountingModel model(small.model());
    ModelStepper stepper(model, small.context());
    const auto found = decode_all(stepper, testing::small_sentences(20, 7), {.strategy = strategy, .minimum_length = 5},
                                  LoopLimits{.maximum_rows = 12});
    EXPECT_EQ(std::accumulate(model.encoded.begin(), model.encoded.end(), std::int64_t{0}), 20);
    EXPECT_GT(model.encoded.size(), 1U) << "sentences were to come in several batches";
    EXPECT_EQ(model.memories_made, static_cast<std::int64_t>(model.encoded.size()));
    EXPECT_GT(model.decoded_rows.size(), 10U);
    EXPECT_EQ(model.decoded_tokens, model.decoded_rows);
  }
}

/// What the kernels of a step had to do.
struct KernelWork {
  std::int64_t linear_rows = 0;
  std::int64_t embedded = 0;
  std::int64_t cached_queries = 0;
  std::int64_t attended = 0;  ///< calls of attention that is not cached
  bool operator==(const KernelWork&) const = default;
};
KernelWork kernel_work;  // NOLINT(*-avoid-non-const-global-variables): kernels are plain functions
const tensor::KernelTable* plain_kernels = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

/// The kernels of a device, which leave in kernel_work what they did.
tensor::KernelTable counting_kernels(const tensor::KernelTable& kernels) {
  plain_kernels = &kernels;
  tensor::KernelTable counting = kernels;
  const auto replace = [&](const auto& key, auto* kernel) {
    counting.erase(key.name);
    counting.set(key, kernel);
  };
  replace(
      ops::kLinear, +[](tensor::Context& context, const ops::LinearArguments& arguments) {
        kernel_work.linear_rows += arguments.x.rows;
        plain_kernels->get(ops::kLinear)(context, arguments);
      });
  replace(
      ops::kFeedForward, +[](tensor::Context& context, const ops::FeedForwardArguments& arguments) {
        kernel_work.linear_rows += 2 * arguments.x.rows;
        plain_kernels->get(ops::kFeedForward)(context, arguments);
      });
  replace(
      ops::kEmbedding, +[](tensor::Context& context, const ops::EmbeddingArguments& arguments) {
        kernel_work.embedded += arguments.y.rows;
        plain_kernels->get(ops::kEmbedding)(context, arguments);
      });
  replace(
      ops::kCachedAttention, +[](tensor::Context& context, const ops::CachedAttentionArguments& arguments) {
        kernel_work.cached_queries += arguments.q.rows;
        plain_kernels->get(ops::kCachedAttention)(context, arguments);
      });
  replace(
      ops::kAttention, +[](tensor::Context& context, const ops::AttentionArguments& arguments) {
        ++kernel_work.attended;
        plain_kernels->get(ops::kAttention)(context, arguments);
      });
  return counting;
}

TEST(WorkOfAStep, OfTheTransformerIsTheSameForEveryStep) {
  constexpr int kLayers = 2;
  constexpr std::int64_t kSentences = 3;
  runtime::Runtime runtime;
  core::SequentialExecutor executor;
  const tensor::KernelTable kernels = counting_kernels(runtime.kernels(tensor::Device::kCpu));
  tensor::Context context(kernels, tensor::host_memory(), tensor::DType::kF32, executor);
  const auto model = transformer::make_transformer(
      {.source_vocabulary = 31, .target_vocabulary = 31},
      {{"d_model", 16}, {"heads", 2}, {"feed_forward", 32}, {"encoder_layers", kLayers}, {"decoder_layers", kLayers}});
  model->parameters().allocate(context.memory(), context.float_type(), tensor::Device::kCpu);
  model->parameters().initialise(3);
  model->parameters().prepare(context, tensor::ComputeType::kF32);

  ModelStepper stepper(*model, context);
  const std::vector<std::int32_t> sources{5, 9, 4, 2, 7, 2, 3, 3, 3, 3, 2};
  const std::vector<std::int32_t> source_offsets{0, 4, 6, 11};
  std::vector<std::int32_t> slots(kSentences);
  kernel_work = {};
  stepper.admit({sources, source_offsets}, slots);
  EXPECT_EQ(kernel_work.embedded, 11);
  EXPECT_EQ(kernel_work.attended, kLayers);
  // Of an encoder layer qkv, out and the two of feed-forward; of a decoder layer the keys and values of the source.
  EXPECT_EQ(kernel_work.linear_rows, kLayers * (4 + 1) * 11);

  // Of a decoder layer qkv and out, q and out to the source, and the two of feed-forward; two attentions.
  const KernelWork expected{
      .linear_rows = kLayers * 6 * kSentences, .embedded = kSentences, .cached_queries = kLayers * 2 * kSentences};
  std::vector<std::int32_t> tokens(kSentences, model->spec().decoder_start);
  const std::vector<std::int32_t> offsets{0, 1, 2, 3};
  StepResult result;
  for (std::int32_t t = 0; t < 40; ++t) {
    std::vector<nn::RowRef> rows;
    for (std::int32_t r = 0; r < kSentences; ++r) rows.push_back({slots[static_cast<std::size_t>(r)], t == 0 ? -1 : r});
    kernel_work = {};
    stepper.step({.rows = rows, .next = {tokens, offsets}}, result);
    EXPECT_EQ(kernel_work, expected) << "step " << t << ": " << kernel_work.linear_rows << " rows of linear layers, "
                                     << kernel_work.embedded << " embedded, " << kernel_work.cached_queries
                                     << " cached queries, " << kernel_work.attended << " whole attentions";
    tokens = result.tokens;
  }
}

}  // namespace
}  // namespace dragoman::decoding
