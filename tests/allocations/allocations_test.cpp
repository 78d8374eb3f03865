#include "allocation_count.h"
#include "test_data.h"
#include "test_names.h"

#include <array>
#include <memory>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/random.h>
#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/training/batches.h>
#include <dragoman/training/loss.h>
#include <dragoman/training/optimizer.h>
#include <dragoman/transformer/transformer.h>

// House rule 7: hot loops do not allocate. What is counted is what a loop asks for once it is warm, when its vectors
// and arenas have seen all sizes. Where that is not nothing, the test says what it is for, and it may not become more.

namespace dragoman::testing {
namespace {

using decoding::Hypothesis;
using decoding::Sentence;

constexpr std::int32_t kVocabulary = 60;

/// A transformer on the CPU, and a context of so many threads.
struct Bench {
  explicit Bench(int threads, double dropout = 0)
      : executor(core::make_executor(threads)),
        context(runtime.make_context(tensor::Device::kCpu, *executor)),
        model(transformer::make_transformer(spec(), config(dropout))) {
    model->parameters().allocate(context->memory(), context->float_type(), tensor::Device::kCpu);
    model->parameters().initialise(3);
  }
  static nn::SequenceSpec spec() {
    return {.source_vocabulary = kVocabulary,
            .target_vocabulary = kVocabulary,
            .maximum_source_length = 64,
            .maximum_target_length = 64};
  }
  static core::Json config(double dropout) {
    return {{"d_model", 32},       {"heads", 4},          {"feed_forward", 64},
            {"encoder_layers", 2}, {"decoder_layers", 2}, {"dropout", dropout}};
  }

  runtime::Runtime runtime;
  std::unique_ptr<core::Executor> executor;
  std::unique_ptr<tensor::Context> context;
  std::unique_ptr<nn::Seq2SeqModel> model;
};

std::vector<std::int32_t> random_tokens(std::uint64_t stream) {
  std::vector<std::int32_t> tokens(4 + core::random_below(17, 1, stream, 0));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = 3 + static_cast<std::int32_t>(core::random_below(kVocabulary - 3, 2, stream, i));
  tokens.push_back(2);
  return tokens;
}

void run_often(const auto& body) {
  for (int i = 0; i < 3; ++i) body();
}

/// Passes everything on. From watch() on it counts in quiet rounds, which are those from one step to the next in which
/// no sentence came or went, apart from the rest: a sentence that ends gives its result away.
class Watched final : public decoding::StepModel {
 public:
  explicit Watched(decoding::StepModel& model) : model_(&model) {}
  const nn::SequenceSpec& spec() const override { return model_->spec(); }
  bool has_alignment() const override { return model_->has_alignment(); }
  void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) override {
    between_steps_.reset();
    model_->admit(sources, slots);
  }
  void release(std::int32_t slot) override {
    between_steps_.reset();
    model_->release(slot);
  }
  void step(const decoding::StepRequest& request, decoding::StepResult& result) override {
    if (between_steps_) add(*between_steps_, in_search, search_callers);
    between_steps_.reset();
    if (!watching_) return model_->step(request, result);
    {
      AllocationCount count;
      model_->step(request, result);
      add(count, in_model, model_callers);
      of_onednn += count.of_onednn();
    }
    ++steps;
    between_steps_.emplace();
  }
  void watch() { watching_ = true; }

  std::int64_t steps = 0;
  std::int64_t in_model = 0;
  std::int64_t in_search = 0;
  std::int64_t of_onednn = 0;
  std::string model_callers;
  std::string search_callers;

 private:
  static void add(AllocationCount& count, std::int64_t& sum, std::string& callers) {
    count.stop();
    sum += count.ours();
    if (count.ours() > 0 && callers.empty()) callers = AllocationCount::callers();
  }

  decoding::StepModel* model_;
  bool watching_ = false;
  std::optional<AllocationCount> between_steps_;
};

/// Gives the same sentences in every run.
class Repeated final : public decoding::SentenceSource {
 public:
  explicit Repeated(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      sentences_.push_back({.id = i, .source = random_tokens(i), .target_prefix = {}, .line = i});
  }
  decoding::Supply next(Sentence& sentence, bool) override {
    if (next_ == sentences_.size()) {
      next_ = 0;
      return decoding::Supply::kEnd;
    }
    sentence = sentences_[next_++];
    return decoding::Supply::kSentence;
  }

 private:
  std::vector<Sentence> sentences_;
  std::size_t next_ = 0;
};

class Dropped final : public decoding::HypothesisSink {
 public:
  void deliver(std::uint64_t, std::vector<Hypothesis>) override {}
};

struct DecodingCase {
  const char* name;
  decoding::DecodingOptions options;
  /// Of the search, for each sentence and not for each step: the tokens and scores of a hypothesis grow in memory that
  /// the sentence before has lost, because ActiveSentence shrinks its list of hypotheses.
  std::int64_t growth_of_a_sentence;
  int threads = 1;
};

class DecodingAllocations : public ::testing::TestWithParam<DecodingCase> {};

TEST_P(DecodingAllocations, OfAStep) {
  Bench bench(GetParam().threads);
  bench.model->parameters().prepare(*bench.context, tensor::ComputeType::kF32);
  decoding::ModelStepper stepper(*bench.model, *bench.context);
  Watched watched(stepper);
  decoding::DecodingLoop loop(watched, GetParam().options, {.maximum_rows = 40});
  constexpr std::int64_t kSentences = 30;
  Repeated sentences(kSentences);
  Dropped dropped;
  run_often([&] { loop.run(sentences, dropped); });
  watched.watch();
  loop.run(sentences, dropped);
  RecordProperty("steps", static_cast<int>(watched.steps));
  RecordProperty("in_model", static_cast<int>(watched.in_model));
  RecordProperty("in_search", static_cast<int>(watched.in_search));
  RecordProperty("of_onednn", static_cast<int>(watched.of_onednn));
  ASSERT_GT(watched.steps, 30);
  EXPECT_EQ(watched.in_model, 0) << watched.model_callers;
  EXPECT_LE(watched.in_search, GetParam().growth_of_a_sentence * kSentences) << watched.search_callers;
}

INSTANTIATE_TEST_SUITE_P(Searches, DecodingAllocations,
                         ::testing::Values(DecodingCase{"greedy", {.strategy = "greedy"}, 20},
                                           DecodingCase{"beam", {.beam_size = 4}, 70},
                                           DecodingCase{"beam_two_threads", {.beam_size = 4}, 70, 2},
                                           DecodingCase{"sampling", {.strategy = "sampling", .n_best = 4}, 72}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(EncodingAllocations, OfASentence) {
  Bench bench(1);
  bench.model->parameters().prepare(*bench.context, tensor::ComputeType::kF32);
  decoding::ModelStepper stepper(*bench.model, *bench.context);
  const std::vector<std::int32_t> tokens = random_tokens(1);
  const std::vector<std::int32_t> offsets{0, static_cast<std::int32_t>(tokens.size())};
  std::int32_t slot = -1;
  const auto encode = [&] {
    stepper.admit({tokens, offsets}, std::span(&slot, 1));
    stepper.release(slot);
  };
  run_often(encode);
  AllocationCount count;
  encode();
  count.stop();
  RecordProperty("ours", static_cast<int>(count.ours()));
  RecordProperty("of_onednn", static_cast<int>(count.of_onednn()));
  // The list of rows that the memories go to, and the list of memories that the model returns.
  EXPECT_LE(count.ours(), 2) << AllocationCount::callers();
}

class TrainingAllocations : public ::testing::TestWithParam<int> {};

TEST_P(TrainingAllocations, OfAnUpdate) {
  Bench bench(GetParam(), 0.1);
  nn::ParameterStore& parameters = bench.model->parameters();
  parameters.attach_gradients(bench.context->memory());
  training::Optimizer optimizer(parameters, bench.context->memory(), {}, 1, 0.999);
  training::EncodedPairs pairs;
  for (std::uint64_t i = 0; i < 12; ++i) {
    pairs.source.append(random_tokens(2 * i));
    pairs.target.append(random_tokens(2 * i + 1));
  }
  std::vector<std::uint32_t> which(pairs.size());
  std::iota(which.begin(), which.end(), 0);
  training::Batch batch;
  std::int64_t number = 0;
  const auto update = [&] {
    ++number;
    parameters.begin_gradients();
    batch.assign(pairs, which, bench.model->spec().decoder_start);
    training::accumulate_gradients(*bench.context, *bench.model, batch, 0.1, 0.01,
                                   {.seed = 1, .step = static_cast<std::uint64_t>(number)});
    parameters.finish_gradients();
    optimizer.apply(*bench.context, {.update = number, .learning_rate = 1e-3});
  };
  run_often(update);
  AllocationCount count;
  update();
  count.stop();
  RecordProperty("ours", static_cast<int>(count.ours()));
  RecordProperty("of_onednn", static_cast<int>(count.of_onednn()));
  // The list of memories that the model returns, and two lists of the state for whole targets.
  EXPECT_LE(count.ours(), 3) << AllocationCount::callers();
}

INSTANTIATE_TEST_SUITE_P(Threads, TrainingAllocations, ::testing::Values(1, 2), dragoman::testing::kParameterName);

TEST(TokenizerAllocations, OfALine) {
  const auto tokenizer = tokenizer::BpeTokenizer::load(in_source("examples/multi30k/model/tokenizer.json"));
  const std::string line = "Ein Mann in einem blauen Hemd liest auf einer Parkbank eine Zeitung.";
  const auto encoder = tokenizer.make_encoder();
  std::vector<std::int32_t> ids;
  const auto encode = [&] {
    ids.clear();
    encoder->encode(line, 0, ids);
  };
  run_often(encode);
  AllocationCount count;
  encode();
  count.stop();
  EXPECT_EQ(count.ours(), 0) << AllocationCount::callers();
}

}  // namespace
}  // namespace dragoman::testing
