#include "hidden_backend.h"
#include "table_model.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/random.h>
#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/transformer/transformer.h>

// Decoding on a device that records steps: rows of padding make most steps replays, and change no result.
namespace dragoman::decoding {
namespace {

/// One model on the CPU and on a device that has the CPU's kernels and replays steps.
class ReplayedSteps : public ::testing::Test {
 protected:
  static constexpr std::int32_t kVocabulary = 61;

  ReplayedSteps() {
    const auto backend = std::make_shared<testing::HiddenBackend>(runtime_.kernels(tensor::Device::kCpu), "replaying",
                                                                  testing::HiddenBackend::Steps::kReplay);
    backend_ = backend.get();
    runtime_.add(backend);
    for (const char* name : {"cpu", "replaying"}) {
      Place& place = places_[name];
      nn::SequenceSpec spec;
      spec.source_vocabulary = spec.target_vocabulary = kVocabulary;
      spec.maximum_source_length = spec.maximum_target_length = 64;
      place.model = transformer::make_transformer(spec, {{"d_model", 16},
                                                         {"heads", 2},
                                                         {"feed_forward", 24},
                                                         {"encoder_layers", 1},
                                                         {"decoder_layers", 2},
                                                         {"tying", "all"}});
      place.context = runtime_.make_context(tensor::Device::of(name), executor_);
      place.model->parameters().allocate(place.context->memory(), place.context->float_type(), place.context->device());
      place.model->parameters().initialise(11);
      place.model->parameters().prepare(*place.context, tensor::ComputeType::kF32);
      place.stepper = std::make_unique<ModelStepper>(*place.model, *place.context);
    }
  }

  static std::vector<Sentence> sentences(std::size_t count, std::uint64_t longest, std::uint64_t seed = 7) {
    std::vector<Sentence> sentences(count);
    for (std::size_t i = 0; i < count; ++i) {
      sentences[i].line = i;
      const std::uint64_t length = 1 + core::random_below(longest, seed, i, 0);
      for (std::uint64_t t = 0; t < length; ++t)
        sentences[i].source.push_back(3 +
                                      static_cast<std::int32_t>(core::random_below(kVocabulary - 3, seed, i, t + 1)));
      sentences[i].source.push_back(2);
    }
    return sentences;
  }
  ModelStepper& on(const char* device) { return *places_[device].stepper; }

  struct Place {
    std::unique_ptr<nn::Seq2SeqModel> model;
    std::unique_ptr<tensor::Context> context;
    std::unique_ptr<ModelStepper> stepper;
  };
  runtime::Runtime runtime_;
  core::SequentialExecutor executor_;
  testing::HiddenBackend* backend_ = nullptr;
  std::map<std::string, Place> places_;
};

/// Sentences end when they are as long as their sources, and others come, so the number of rows changes with each step.
TEST_F(ReplayedSteps, AreMostOfALongRun) {
  const auto earlier = sentences(600, 24, 8), queue = sentences(600, 24);
  // Without padding: 0.50 and 0.77.
  const std::pair<DecodingOptions, double> cases[] = {{{.strategy = "greedy", .maximum_length_factor = 1}, 0.74},
                                                      {{.beam_size = 2, .maximum_length_factor = 1}, 0.85}};
  for (const auto& [options, least] : cases) {
    const LoopLimits limits{.maximum_rows = 96};
    const auto expected = decode_all(on("cpu"), queue, options, limits);
    decode_all(on("replaying"), earlier, options, limits);  // pools and arenas find their places
    const testing::RecorderCounts before = backend_->counts();
    testing::expect_same(expected, decode_all(on("replaying"), queue, options, limits));
    const testing::RecorderCounts& after = backend_->counts();
    const auto replayed = static_cast<double>(after.replayed - before.replayed);
    const double all = replayed + static_cast<double>(after.run - before.run);
    EXPECT_GT(replayed / all, least) << options.strategy << ": " << replayed << " of " << all;
    RecordProperty("replayed_" + options.strategy, std::to_string(replayed / all));
  }
}

/// Three rows with five of padding, and eight rows: their histories have the same bucket, and other sums. The sources
/// are encoded in a step of another shape.
TEST_F(ReplayedSteps, DoNotDependOnTheSumOfHistories) {
  const DecodingOptions options{.strategy = "greedy", .maximum_length = 14};
  const auto few = sentences(3, 5), many = sentences(8, 5, 9);
  for (int run = 0; run < 3; ++run) decode_all(on("replaying"), few, options, {.maximum_rows = 8});
  const testing::RecorderCounts before = backend_->counts();
  const auto actual = decode_all(on("replaying"), many, options, {.maximum_rows = 8});
  const testing::RecorderCounts& after = backend_->counts();
  testing::expect_same(decode_all(on("cpu"), many, options, {.maximum_rows = 8}), actual);
  EXPECT_EQ(after.run - before.run, 1U);
  EXPECT_GE(after.replayed - before.replayed, 10U);
}

/// What a step has for each row: temperatures, noise, weights of attention, tokens with scores, edits of logits.
TEST_F(ReplayedSteps, HaveTheResultsOfTheCpu) {
  auto queue = sentences(40, 12);
  const auto plan = [](const DecodingOptions& options) { return std::make_shared<const SearchPlan>(options); };
  const auto cold = plan({.strategy = "sampling", .maximum_length = 12, .sampling = {.temperature = 0.7}});
  const auto blocked = plan({.maximum_length = 12, .no_repeat_ngram = 2});
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (i % 3 == 0) queue[i].search = cold;
    if (i % 7 == 1) queue[i].search = blocked;
    if (i % 11 == 2) queue[i].target_prefix = {3, 4};
    if (i % 13 == 5 && i % 3 != 0) queue[i].constraints = {{.forms = {{.tokens = {5, 6}}}}};
  }
  for (const bool alignment : {false, true}) {
    const DecodingOptions options{.beam_size = 3, .n_best = 2, .maximum_length = 12, .want_alignment = alignment};
    const auto expected = decode_all(on("cpu"), queue, options, {.maximum_rows = 31});
    for (int run = 0; run < 3; ++run)
      testing::expect_same(expected, decode_all(on("replaying"), queue, options, {.maximum_rows = 29}));
  }
  EXPECT_EQ(on("replaying").bytes_in_use(), 0U);
}

}  // namespace
}  // namespace dragoman::decoding
