#include "hidden_backend.h"
#include "small_model.h"
#include "table_model.h"

#include <algorithm>

#include <gtest/gtest.h>

#include <dragoman/backend_cpu/install.h>
#include <dragoman/core/json.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/shortlist.h>
#include <dragoman/ops/project_shortlist_top_k.h>
#include <dragoman/transformer/transformer.h>

// Searches that project to the tokens of shortlists alone against searches that compute all logits and mask them.
namespace dragoman::decoding {
namespace {

using tensor::ComputeType;
using testing::expect_same;

/// How often which projection was called.
struct Calls {
  static inline int whole = 0;
  static inline int shortlist_columns = 0;
  static inline void (*whole_kernel)(tensor::Context&, const ops::ProjectTopKArguments&) = nullptr;
  static inline void (*shortlist_kernel)(tensor::Context&, const ops::ProjectShortlistTopKArguments&) = nullptr;

  static void count_in(tensor::KernelTable& table) {
    whole_kernel = table.get(ops::kProjectTopK);
    shortlist_kernel = table.get(ops::kProjectShortlistTopK);
    table.erase(ops::kProjectTopK.name);
    table.erase(ops::kProjectShortlistTopK.name);
    table.set(ops::kProjectTopK, [](tensor::Context& context, const ops::ProjectTopKArguments& arguments) {
      ++whole;
      whole_kernel(context, arguments);
    });
    table.set(ops::kProjectShortlistTopK,
              [](tensor::Context& context, const ops::ProjectShortlistTopKArguments& arguments) {
                ++shortlist_columns;
                shortlist_kernel(context, arguments);
              });
  }
};

class ShortlistCacheTest : public ::testing::TestWithParam<ComputeType> {
 protected:
  /// More than one panel of the whole projection, the last one narrow.
  static constexpr std::int32_t kVocabulary = 6001;

  enum class Way { kShortlist, kMasked };

  ShortlistCacheTest() : shortlist_kernels_(tensor::Device::kCpu), masked_kernels_(tensor::Device::kCpu) {
    backend::cpu::install_kernels(shortlist_kernels_);
    backend::cpu::install_kernels(masked_kernels_);
    masked_kernels_.erase(ops::kMakeShortlistOutputs.name);
    Calls::count_in(shortlist_kernels_);
    model_ = make_model();
    model_->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
    model_->parameters().initialise(3);
    model_->parameters().prepare(*make_context(Way::kShortlist), type());
  }

  static ComputeType type() {
    return GetParam() == ComputeType::kI8 ? backend::cpu::inference_type(tensor::ComputeChoice::kI8) : GetParam();
  }
  static std::unique_ptr<nn::Seq2SeqModel> make_model() {
    nn::SequenceSpec spec;
    spec.source_vocabulary = spec.target_vocabulary = kVocabulary;
    spec.maximum_source_length = spec.maximum_target_length = 64;
    return transformer::make_transformer(spec, {{"d_model", 32},
                                                {"heads", 2},
                                                {"feed_forward", 48},
                                                {"encoder_layers", 1},
                                                {"decoder_layers", 1},
                                                {"tying", "all"},
                                                {"output_bias", true}});
  }
  std::unique_ptr<tensor::Context> make_context(Way way) {
    return std::make_unique<tensor::Context>(way == Way::kShortlist ? shortlist_kernels_ : masked_kernels_,
                                             tensor::host_memory(), tensor::DType::kF32, executor_);
  }
  /// Whether this processor's products give a gathered output its bits; where not, all outputs are computed.
  bool gathers() {
    const auto context = make_context(Way::kShortlist);
    auto* make = shortlist_kernels_.get(ops::kMakeShortlistOutputs);
    return make(*context, *model_->output().weight.packed, 1) != nullptr;
  }
  /// Some dozens of translations of each token, more of some.
  static Shortlist some() {
    std::vector<Shortlist::Entry> entries;
    for (std::int32_t source = 3; source < kVocabulary; ++source)
      for (std::int32_t i = 0; i < (source % 50 == 0 ? 400 : 40); ++i)
        entries.push_back({source, (source * 37 + i * i * 11 + i) % kVocabulary, 1});
    const std::vector<std::int32_t> frequent{3, 4, 5, 2047, 2048, 6000};
    return {{.source_size = kVocabulary, .target_size = kVocabulary, .end = 2, .unknown = 0}, entries, frequent, 500};
  }
  std::vector<Sentence> sentences(std::size_t count, std::int32_t longest = 9) const {
    std::vector<Sentence> all = testing::small_sentences(count, longest);
    std::uint32_t state = 5;
    for (Sentence& sentence : all) {
      for (std::int32_t& token : sentence.source) {
        state = state * 1664525 + 1013904223;
        if (token != 2) token = 3 + static_cast<std::int32_t>((state >> 8) % (kVocabulary - 3));
      }
      sentence.shortlist = &shortlist_;
    }
    return all;
  }
  std::vector<std::vector<Hypothesis>> decode(Way way, const std::vector<Sentence>& sentences,
                                              const DecodingOptions& options, std::int64_t rows = 40) {
    const auto context = make_context(way);
    ModelStepper stepper(*model_, *context);
    return decode_all(stepper, sentences, options, {.maximum_rows = rows});
  }

  core::SequentialExecutor executor_;
  tensor::KernelTable shortlist_kernels_;
  tensor::KernelTable masked_kernels_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
  Shortlist shortlist_ = some();
};
INSTANTIATE_TEST_SUITE_P(Types, ShortlistCacheTest,
                         ::testing::Values(ComputeType::kF32, ComputeType::kBF16, ComputeType::kI8),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

std::vector<DecodingOptions> shortlist_searches() {
  DecodingOptions groups{.n_best = 2, .maximum_length = 12};
  groups.beam_groups = 2;
  DecodingOptions penalised{.maximum_length = 12};
  penalised.repetition_penalty = 1.3;
  penalised.suppressed = {{3}, {4, 5}};
  return {DecodingOptions{.strategy = "greedy", .maximum_length = 12},
          DecodingOptions{.n_best = 3, .maximum_length = 12},
          DecodingOptions{.strategy = "sampling", .n_best = 2, .maximum_length = 12}, groups, penalised};
}

TEST_P(ShortlistCacheTest, FindWhatMaskingFindsInAnyBatchAndOrder) {
  const std::vector<Sentence> all = sentences(40);
  const bool can_gather = gathers();
  for (const DecodingOptions& options : shortlist_searches()) {
    const auto expected = decode(Way::kMasked, all, options);
    for (const std::int64_t rows : {1, 9, 24, 60}) {
      Calls::whole = Calls::shortlist_columns = 0;
      expect_same(expected, decode(Way::kShortlist, all, options, rows));
      // The lists of many sentences together are too long for half of the vocabulary: all of it is then computed.
      if (!can_gather) {
        EXPECT_EQ(Calls::shortlist_columns, 0) << options.strategy << ", " << rows << " rows";
        continue;
      }
      if (rows <= 9) {
        EXPECT_EQ(Calls::whole, 0) << options.strategy << ", " << rows << " rows";
      }
      if (rows <= 24) {
        EXPECT_GT(Calls::shortlist_columns, 0) << options.strategy << ", " << rows << " rows";
      }
    }
    std::vector<Sentence> turned = all;
    std::ranges::rotate(turned, turned.begin() + 11);
    auto results = decode(Way::kShortlist, turned, options, 20);
    std::rotate(results.begin(), results.end() - 11, results.end());
    expect_same(expected, results);
  }
}

TEST_P(ShortlistCacheTest, AreKeptWhileLongAndShortSentencesComeAndGo) {
  std::vector<Sentence> all = sentences(30, 3);
  std::vector<Sentence> others = sentences(60, 40);
  all.insert(all.begin() + 15, others.begin() + 30, others.end());
  const DecodingOptions options{.strategy = "greedy", .maximum_length = 8};
  expect_same(decode(Way::kMasked, all, options), decode(Way::kShortlist, all, options, 8));
}

TEST_P(ShortlistCacheTest, SentencesWithoutAListAreSearchedAsAWholeBesideOthers) {
  std::vector<Sentence> all = sentences(20);
  for (std::size_t i = 8; i < 12; ++i) all[i].shortlist = nullptr;
  Calls::whole = Calls::shortlist_columns = 0;
  expect_same(decode(Way::kMasked, all, {.maximum_length = 10}),
              decode(Way::kShortlist, all, {.maximum_length = 10}, 12));
  EXPECT_GT(Calls::whole, 0);
  EXPECT_EQ(Calls::shortlist_columns > 0, gathers());
}

TEST_P(ShortlistCacheTest, ForcedTokensNeedNotBeListed) {
  std::vector<Sentence> all = sentences(12);
  std::vector<std::int32_t> forced;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::int32_t> list;
    shortlist_.candidates(all[i].source, list);
    std::int32_t token = 100 + static_cast<std::int32_t>(i) * 17;
    while (std::ranges::binary_search(list, token)) ++token;
    forced.push_back(token);
    if (i % 2 == 0)
      all[i].constraints = {{.forms = {{.tokens = {token}}}}};
    else
      all[i].target_prefix = {token};
  }
  const DecodingOptions options{.maximum_length = 20};
  const auto results = decode(Way::kShortlist, all, options, 16);
  expect_same(decode(Way::kMasked, all, options), results);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Hypothesis& best = results[i].front();
    EXPECT_NE(std::ranges::find(best.tokens, forced[i]), best.tokens.end()) << i;
    EXPECT_TRUE(best.unmet.empty()) << i;
  }
}

TEST_P(ShortlistCacheTest, OtherWeightsAreGatheredAnew) {
  const std::vector<Sentence> all = sentences(6);
  const auto context = make_context(Way::kShortlist);
  ModelStepper stepper(*model_, *context);
  const auto before = decode_all(stepper, all, {.maximum_length = 8}, {});
  model_->parameters().initialise(4);
  model_->parameters().prepare(*context, type());
  const auto after = decode_all(stepper, all, {.maximum_length = 8}, {});
  expect_same(decode(Way::kMasked, all, {.maximum_length = 8}), after);
  EXPECT_NE(before.front().front().log_probability, after.front().front().log_probability);
}

/// A device whose memory the host cannot read, and that makes recorded steps again.
TEST_P(ShortlistCacheTest, ADeviceMayKeepTheSteps) {
  tensor::KernelTable cpu(tensor::Device::kCpu);
  backend::cpu::install_kernels(cpu);
  const std::vector<Sentence> all = sentences(24);
  const DecodingOptions options{.maximum_length = 12};
  const auto expected = decode(Way::kMasked, all, options);
  for (const auto steps : {testing::HiddenBackend::Steps::kRun, testing::HiddenBackend::Steps::kReplay}) {
    const testing::HiddenBackend backend(cpu, "hidden", steps);
    const auto model = make_model();
    model->parameters().allocate(backend.memory(0), tensor::DType::kF32, backend.kernels().device());
    model->parameters().initialise(3);
    tensor::Context context(backend.kernels(), backend.memory(0), tensor::DType::kF32, executor_);
    context.set_recorder(backend.make_recorder(context));
    model->parameters().prepare(context, type());
    ModelStepper stepper(*model, context);
    expect_same(expected, decode_all(stepper, all, options, {.maximum_rows = 16}));
    if (steps == testing::HiddenBackend::Steps::kReplay) {
      EXPECT_GT(backend.counts().replayed, 0U);
    }
  }
}

}  // namespace
}  // namespace dragoman::decoding
