#include "cuda_backend_for_tests.h"
#include "hidden_backend.h"
#include "table_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>

#include <gtest/gtest.h>

#include <dragoman/backend_cpu/install.h>
#include <dragoman/core/json.h>
#include <dragoman/core/random.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/shortlist.h>
#include <dragoman/decoding/strategy.h>
#include <dragoman/ops/choose_next.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/transformer/transformer.h>

// Searches whose next step is begun before the last one's candidates are looked at, against the same searches step by
// step.
namespace dragoman::decoding {
namespace {

using testing::expect_same;
using testing::random_sentences;
using testing::TableModel;

/// All that runs ahead: every preset of length penalties, with few and many results, and searches that end early or
/// late. Lengths are short enough for many to be cut.
std::vector<DecodingOptions> ahead_searches(std::int32_t maximum_length) {
  std::vector<DecodingOptions> all{{.strategy = "greedy", .maximum_length = maximum_length}};
  for (const std::string_view preset : LengthPenalty::kPresets)
    for (const std::int32_t beam_size : {1, 2, 4, 5})
      for (const std::int32_t n_best : {1, beam_size}) {
        all.push_back({.beam_size = beam_size, .n_best = n_best, .maximum_length = maximum_length});
        all.back().length_penalty = LengthPenalty::preset(preset, {});
        all.push_back(all.back());
        all.back().patience = beam_size == 4 ? 2.5 : 0.4;
      }
  all.push_back({.beam_size = 3, .maximum_length_factor = 0.5});
  all.back().length_penalty = LengthPenalty::ct2(0);
  return all;
}

/// A table model that can be told to run ahead; its rows are then chosen here, by sorting all that there is. Log
/// probabilities are made coarse, so that there are ties; improbable tokens cannot be had, and some distributions are
/// broken.
class Ahead final : public StepModel {
 public:
  struct Options {
    TableModel::Options table;
    double coarseness = 0;  ///< 0: as they are
    double least = -std::numeric_limits<double>::infinity();
    bool breaks = false;
  };
  explicit Ahead(const Options& options, bool runs_ahead = true)
      : options_(options), table_(options.table), runs_ahead_(runs_ahead) {}

  const nn::SequenceSpec& spec() const override { return table_.spec(); }
  void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) override {
    table_.admit(sources, slots);
  }
  void release(std::int32_t slot) override { table_.release(slot); }
  bool has_alignment() const override { return true; }
  void step(const StepRequest& request, StepResult& result) override {
    EXPECT_EQ(under_way_, 0) << "what was begun has to be looked at before";
    EXPECT_TRUE(request.chosen.empty());
    table_.step(request, result);
    spoil(request, result);
    ++stepped;
  }
  bool runs_ahead() const override { return runs_ahead_; }
  std::unique_ptr<PendingStep> begin(const StepRequest& request) override {
    std::vector<nn::RowRef> rows(request.rows.begin(), request.rows.end());
    std::vector<std::int32_t> tokens(request.next.tokens.begin(), request.next.tokens.end());
    for (const ops::NextRows& next : request.chosen) choose(next, request.log_probabilities, rows, tokens);
    StepRequest actual = request;
    actual.rows = rows;
    actual.next.tokens = tokens;
    actual.chosen = {};
    auto step = std::make_unique<Pending>(*this);
    EXPECT_LE(under_way_, 2);
    table_.step(actual, step->result);
    spoil(actual, step->result);
    last_ = step->result;
    per_row_ = request.candidates;
    ++begun;
    return step;
  }

  int under_way() const { return under_way_; }
  int begun = 0, stepped = 0;
  int finished_behind_another = 0;  ///< steps that were looked at when the next one had been begun

 private:
  class Pending final : public PendingStep {
   public:
    explicit Pending(Ahead& model) : model_(model) { ++model.under_way_; }
    ~Pending() override { --model_.under_way_; }
    void finish(StepResult& to) override {
      model_.finished_behind_another += model_.under_way_ - 1;
      to = std::move(result);
    }
    StepResult result;

   private:
    Ahead& model_;
  };

  void spoil(const StepRequest& request, StepResult& result) const {
    for (std::size_t i = 0; i < result.log_probabilities.size(); ++i) {
      double& value = result.log_probabilities[i];
      if (options_.coarseness > 0) value = std::round(value / options_.coarseness) * options_.coarseness;
      const std::size_t first = i - i % static_cast<std::size_t>(request.candidates);
      if (i > first && value < options_.least) value = -std::numeric_limits<double>::infinity();
      if (options_.breaks && i == first + 1 && result.tokens[first] == 5 && result.tokens[i] == 7)
        value = std::numeric_limits<double>::quiet_NaN();
    }
  }

  void choose(const ops::NextRows& next, std::span<const double> sums, std::vector<nn::RowRef>& rows,
              std::vector<std::int32_t>& tokens) const {
    std::vector<std::tuple<double, std::int32_t, std::int32_t>> choices;
    for (std::int32_t row = next.first_row; row < next.first_row + next.rows; ++row)
      for (std::int32_t rank = 0; rank < next.candidates; ++rank) {
        const auto place = static_cast<std::size_t>(row * per_row_ + rank);
        if (last_.log_probabilities[place] > -std::numeric_limits<double>::infinity() &&
            last_.tokens[place] != TableModel::kEnd)
          choices.emplace_back(-(sums[static_cast<std::size_t>(row)] + last_.log_probabilities[place]), row, rank);
      }
    std::ranges::sort(choices);
    for (std::size_t i = 0; i < static_cast<std::size_t>(next.next); ++i) {
      const auto [total, row, rank] = i < choices.size() ? choices[i] : std::tuple(0.0, next.first_row, -1);
      const std::size_t to = static_cast<std::size_t>(next.first_next) + i;
      rows[to].parent = row;
      if (rank >= 0) tokens[to] = last_.tokens[static_cast<std::size_t>(row * per_row_ + rank)];
    }
  }

  Options options_;
  TableModel table_;
  bool runs_ahead_;
  StepResult last_;
  std::int64_t per_row_ = 1;
  int under_way_ = 0;
};

std::vector<Ahead::Options> tables() {
  return {{.table = {.vocabulary = 12, .end_bias = 0.5}},
          {.table = {.seed = 2, .vocabulary = 9, .end_bias = 2, .sharpness = 1}, .coarseness = 0.5},
          {.table = {.seed = 3, .vocabulary = 5, .maximum_target_length = 9}, .coarseness = 0.25, .least = -2},
          {.table = {.seed = 4, .vocabulary = 12, .end_bias = -2, .sharpness = 3}, .least = -1.5, .breaks = true},
          {.table = {.seed = 5, .vocabulary = 10, .end_bias = 9}}};
}

TEST(RunAhead, FindsWhatOrdinaryStepsFind) {
  const auto sentences = random_sentences(40, 8);
  for (const Ahead::Options& table : tables()) {
    for (const DecodingOptions& options : ahead_searches(7)) {
      Ahead ordinary(table, false);
      const auto expected = decode_all(ordinary, sentences, options, {.maximum_rows = 11});
      EXPECT_EQ(ordinary.begun, 0);
      for (const std::int64_t rows : {1, 6, 23, 1000}) {
        Ahead ahead(table);
        expect_same(expected, decode_all(ahead, sentences, options, {.maximum_rows = rows}));
        EXPECT_EQ(ahead.stepped, 0);
        EXPECT_EQ(ahead.under_way(), 0);
        EXPECT_GT(ahead.begun, 0);
      }
    }
  }
}

TEST(RunAhead, LooksAtAStepWhenTheNextOneIsUnderWay) {
  Ahead ahead({.table = {.vocabulary = 12, .end_bias = -1}});
  decode_all(ahead, random_sentences(60, 8), DecodingOptions{.maximum_length = 12}, {.maximum_rows = 24});
  // But where all sentences in flight are at their longest.
  EXPECT_GE(ahead.finished_behind_another, ahead.begun * 9 / 10);
}

/// Some of the sentences need the host in each step, or in their first one.
TEST(RunAhead, GivesWayToSentencesThatNeedTheHost) {
  const Ahead::Options table{.table = {.vocabulary = 12, .end_bias = 0.5}};
  std::vector<Sentence> sentences = random_sentences(80, 8);
  const auto search = [](const DecodingOptions& options) { return std::make_shared<const SearchPlan>(options); };
  const auto sampling = search({.strategy = "sampling", .maximum_length = 9});
  const auto blocked = search({.maximum_length = 5, .no_repeat_ngram = 2});
  const auto aligned = search({.maximum_length = 5, .want_alignment = true});
  const auto greedy = search({.strategy = "greedy", .maximum_length = 6});
  const auto narrow = search({.beam_size = 2, .maximum_length = 8});
  for (std::size_t i = 0; i < 48; ++i) {
    if (i % 16 == 3) sentences[i].search = sampling;
    if (i % 16 == 7) sentences[i].search = blocked;
    if (i % 16 == 11) sentences[i].search = aligned;
    if (i % 8 == 0) sentences[i].search = greedy;
    if (i % 8 == 1) sentences[i].search = narrow;
    if (i % 8 == 2) sentences[i].target_prefix = {3, 4};
    if (i % 16 == 14) sentences[i].constraints = {{.forms = {{.tokens = {5, 6}}}}};
  }
  Ahead ordinary(table, false);
  const auto expected = decode_all(ordinary, sentences, DecodingOptions{.n_best = 2, .maximum_length = 10});
  for (const std::int64_t rows : {5, 12, 30}) {
    Ahead ahead(table);
    expect_same(expected, decode_all(ahead, sentences, DecodingOptions{.n_best = 2, .maximum_length = 10},
                                     {.maximum_rows = rows}));
    EXPECT_GT(ahead.begun, 10);
    EXPECT_GT(ahead.stepped, 10);
  }
}

class Source final : public SentenceSource {
 public:
  explicit Source(std::vector<Sentence> sentences) : sentences_(std::move(sentences)) {}
  Supply next(Sentence& sentence, bool) override {
    if (position_ == sentences_.size()) return Supply::kEnd;
    sentence = sentences_[position_];
    sentence.id = position_++;
    return Supply::kSentence;
  }
  /// Every fifth, in its third step.
  bool stopped(std::uint64_t id) override { return id % 5 == 2 && ++asked_[id] == 3; }

 private:
  std::vector<Sentence> sentences_;
  std::map<std::uint64_t, int> asked_;
  std::size_t position_ = 0;
};

class Sink final : public HypothesisSink {
 public:
  explicit Sink(std::size_t count) : results(count) {}
  void deliver(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    results[id] = std::move(hypotheses);
    if (++delivered == stop_after) stop.request_stop();
  }
  void fail(std::uint64_t, std::exception_ptr) override { ++failed; }
  std::vector<std::vector<Hypothesis>> results;
  std::size_t delivered = 0, failed = 0, stop_after = 0;
  std::stop_source stop;
};

TEST(RunAhead, SentencesAndRunsCanBeStoppedMeanwhile) {
  const Ahead::Options table{.table = {.vocabulary = 12, .end_bias = -1}};
  const auto sentences = random_sentences(50, 8);
  const DecodingOptions options{.maximum_length = 12};
  Ahead ordinary(table, false);
  auto expected = decode_all(ordinary, sentences, options);
  for (std::size_t id = 2; id < expected.size(); id += 5) expected[id].clear();
  Ahead ahead(table);
  DecodingLoop loop(ahead, options, {.maximum_rows = 20});
  Source source(sentences);
  Sink sink(sentences.size());
  EXPECT_TRUE(loop.run(source, sink));
  EXPECT_EQ(sink.failed, 10U);
  expect_same(expected, sink.results);
  Source again(sentences);
  Sink stopped(sentences.size());
  stopped.stop_after = 7;
  EXPECT_FALSE(loop.run(again, stopped, stopped.stop.get_token()));
  EXPECT_EQ(ahead.under_way(), 0);
  Source last(sentences);
  Sink whole(sentences.size());
  EXPECT_TRUE(loop.run(last, whole));
  expect_same(expected, whole.results);
}

/// A strategy that does not do what it says.
TEST(RunAhead, ABrokenPromiseEndsTheSentence) {
  class Wide final : public SearchStrategy {
   public:
    StepNeeds needs(std::int64_t) const override { return {.candidates = 3}; }
    std::int32_t maximum_live() const override { return 2; }
    std::int32_t next_rows(const SentenceState&) const override { return 1; }
    void advance(SentenceState&, const Candidates& candidates, Advance& result) override {
      for (std::int32_t rank = 0; rank < 3 && result.continuations.size() < 2; ++rank)
        if (candidates.token(0, rank) != TableModel::kEnd)
          result.continuations.push_back({0, candidates.token(0, rank), candidates.log_probability(0, rank)});
    }
  };
  Ahead ahead({.table = {.vocabulary = 6}});
  const auto search = std::make_shared<const SearchPlan>(
      DecodingOptions{.strategy = "wide"}, [] { return std::make_unique<Wide>(); }, nullptr);
  DecodingLoop loop(ahead, search);
  Source source(random_sentences(1, 4));
  Sink sink(1);
  EXPECT_TRUE(loop.run(source, sink));
  EXPECT_EQ(sink.failed, 1U);
}

// --- a real model on devices whose memory the host cannot read

/// The same model on each device.
class Devices {
 public:
  static constexpr std::int32_t kVocabulary = 61;

  Devices() {
    const auto add = [&](const std::shared_ptr<tensor::Backend>& backend) {
      if (backend == nullptr) return;
      runtime_.add(backend);
      names_.emplace_back(backend->name());
    };
    const tensor::KernelTable& cpu = runtime_.kernels(tensor::Device::kCpu);
    using Steps = testing::HiddenBackend::Steps;
    add(std::make_shared<testing::HiddenBackend>(cpu, "hidden"));
    add(std::make_shared<testing::HiddenBackend>(cpu, "replaying", Steps::kReplay));
    add(testing::make_cuda_backend());
    add(testing::make_capturing_cuda_backend());
  }

  /// "hidden" and "replaying" have the CPU's kernels.
  const std::vector<std::string>& names() const { return names_; }
  std::unique_ptr<tensor::Context> make_context(std::string_view name) {
    return runtime_.make_context(tensor::Device::of(name), executor_);
  }
  testing::HiddenMemory& memory(std::string_view name) {
    return dynamic_cast<testing::HiddenMemory&>(runtime_.memory(tensor::Device::of(name)));
  }
  nn::Seq2SeqModel& model(std::string_view name, tensor::ComputeType type = tensor::ComputeType::kF32) {
    auto& model = models_[{std::string(name), type}];
    if (model == nullptr) {
      nn::SequenceSpec spec;
      spec.source_vocabulary = spec.target_vocabulary = kVocabulary;
      spec.maximum_source_length = spec.maximum_target_length = 32;
      model = transformer::make_transformer(spec, {{"d_model", 16},
                                                   {"heads", 2},
                                                   {"feed_forward", 24},
                                                   {"encoder_layers", 1},
                                                   {"decoder_layers", 2},
                                                   {"tying", "all"}});
      const auto context = make_context(name);
      model->parameters().allocate(context->memory(), context->float_type(), context->device());
      model->parameters().initialise(11);
      model->parameters().prepare(*context, type);
    }
    return *model;
  }

 private:
  runtime::Runtime runtime_;
  core::SequentialExecutor executor_;
  std::vector<std::string> names_;
  std::map<std::pair<std::string, tensor::ComputeType>, std::unique_ptr<nn::Seq2SeqModel>> models_;
};

Devices& devices() {
  static Devices all;
  return all;
}

/// A stepper that does not run ahead.
class StepByStep final : public StepModel {
 public:
  explicit StepByStep(StepModel& inner) : inner_(inner) {}
  const nn::SequenceSpec& spec() const override { return inner_.spec(); }
  void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) override {
    inner_.admit(sources, slots);
  }
  void release(std::int32_t slot) override { inner_.release(slot); }
  void step(const StepRequest& request, StepResult& result) override { inner_.step(request, result); }
  bool has_alignment() const override { return inner_.has_alignment(); }

 private:
  StepModel& inner_;
};

std::vector<Sentence> sentences_of(std::size_t count, std::uint64_t seed) {
  std::vector<Sentence> sentences(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t length = 1 + core::random_below(9, seed, i, 0);
    for (std::uint64_t t = 0; t < length; ++t)
      sentences[i].source.push_back(
          3 + static_cast<std::int32_t>(core::random_below(Devices::kVocabulary - 3, seed, i, t + 1)));
    sentences[i].source.push_back(2);
  }
  return sentences;
}

using Results = std::vector<std::vector<Hypothesis>>;

Results decode_on(std::string_view device, const std::vector<Sentence>& sentences, const DecodingOptions& options,
                  std::int64_t rows, bool ahead, tensor::ComputeType type = tensor::ComputeType::kF32) {
  const auto context = devices().make_context(device);
  ModelStepper stepper(devices().model(device, type), *context);
  EXPECT_EQ(stepper.runs_ahead(), device != "cpu");
  StepByStep plain(stepper);
  return decode_all(ahead ? static_cast<StepModel&>(stepper) : plain, sentences, options, {.maximum_rows = rows});
}

void expect_near(const Results& a, const Results& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      EXPECT_EQ(a[i][k].tokens, b[i][k].tokens) << i << ", " << k;
      EXPECT_NEAR(a[i][k].score, b[i][k].score, 1e-4) << i << ", " << k;
    }
  }
}

class RunAheadOn : public ::testing::TestWithParam<std::string> {
 protected:
  bool emulated() const { return GetParam() == "cuda" || GetParam() == "captured"; }
};
INSTANTIATE_TEST_SUITE_P(Devices, RunAheadOn, ::testing::ValuesIn(devices().names()),
                         [](const auto& device) { return device.param; });

TEST_P(RunAheadOn, FindsWhatOrdinaryStepsAndTheCpuFind) {
  const auto sentences = sentences_of(emulated() ? 14 : 40, 3);
  std::size_t search = 0;
  for (const DecodingOptions& options : ahead_searches(10)) {
    if (emulated() && ++search % 12 != 1) continue;
    const auto expected = decode_on("cpu", sentences, options, 16, false);
    const auto found = decode_on(GetParam(), sentences, options, 13, true);
    if (!emulated()) {
      expect_same(expected, found);
      continue;
    }
    expect_same(decode_on(GetParam(), sentences, options, 9, false), found);
    expect_near(expected, found);
  }
}

TEST_P(RunAheadOn, FindsTheSameInInt8AndWithShortlists) {
  std::vector<Shortlist::Entry> entries;
  for (std::int32_t source = 3; source < Devices::kVocabulary; ++source)
    for (std::int32_t i = 0; i < 5; ++i) entries.push_back({source, (source * 7 + i * i) % Devices::kVocabulary, 1});
  const std::vector<std::int32_t> frequent{3, 4, 5};
  const Shortlist shortlist(
      {.source_size = Devices::kVocabulary, .target_size = Devices::kVocabulary, .end = 2, .unknown = 0}, entries,
      frequent, 20);
  auto sentences = sentences_of(12, 4);
  const DecodingOptions options{.beam_size = 3, .n_best = 2, .maximum_length = 8};
  const tensor::ComputeType int8 =
      emulated() ? tensor::ComputeType::kI8 : backend::cpu::inference_type(tensor::ComputeChoice::kI8);
  for (int with_lists = 0; with_lists < 2; ++with_lists) {
    expect_same(decode_on(GetParam(), sentences, options, 9, false, int8),
                decode_on(GetParam(), sentences, options, 12, true, int8));
    for (Sentence& sentence : sentences) sentence.shortlist = &shortlist;
  }
}

/// Once all has its place: the host waits for no step before the next one is under way, and for nothing else.
TEST_P(RunAheadOn, TheHostWaitsForNothingBetweenSteps) {
  const auto sentences = sentences_of(24, 5);
  const DecodingOptions options{.maximum_length = 10};
  const auto context = devices().make_context(GetParam());
  ModelStepper stepper(devices().model(GetParam()), *context);
  decode_all(stepper, sentences, options, {.maximum_rows = 24});
  testing::HiddenMemory& memory = devices().memory(GetParam());
  const testing::HiddenMemory::Counts before = memory.counts();
  DecodingLoop loop(stepper, options, {.maximum_rows = 24});
  Source source({sentences.begin(), sentences.begin() + 2});
  Sink sink(sentences.size());
  EXPECT_TRUE(loop.run(source, sink));
  const testing::HiddenMemory::Counts after = memory.counts();
  EXPECT_EQ(after.waits, before.waits);
  // Before the kernel that chooses rows, before that which extends lists of ancestors, and before the step.
  EXPECT_LE(after.uploads - before.uploads, 3 * loop.statistics().steps + 3);
  EXPECT_GE(after.reads - before.reads, loop.statistics().steps);
  EXPECT_GT(loop.statistics().steps, 5U);
  // The last of a run has none behind it.
  EXPECT_GE(after.reads_overtaken - before.reads_overtaken + 1, loop.statistics().steps);
}

/// What the device chooses is what the strategy decides, ties included.
TEST_P(RunAheadOn, ChoosesAsTheStrategyDoes) {
  constexpr std::int32_t kEnd = 2;
  const auto context = devices().make_context(GetParam());
  const nn::SequenceSpec spec{.target_vocabulary = 50, .end = kEnd};
  const auto uniform = [](std::uint64_t stream, std::uint64_t i) { return core::random_uniform(9, stream, i); };
  std::uint64_t stream = 0;
  int ties = 0, fewer = 0;
  for (int round = 0; round < (emulated() ? 60 : 400); ++round) {
    const auto beam_size = static_cast<std::int32_t>(1 + core::random_below(round % 10 == 0 ? 70 : 6, 1, round, 0));
    DecodingOptions options{.strategy = beam_size == 1 && round % 2 == 0 ? "greedy" : "beam", .beam_size = beam_size};
    const auto& presets = LengthPenalty::kPresets;
    options.length_penalty = LengthPenalty::preset(presets[static_cast<std::size_t>(round) % std::size(presets)], {});
    const auto strategy = make_strategy(options);
    const std::int64_t wanted = strategy->needs(spec.target_vocabulary).candidates;
    const std::int64_t per_row = wanted + round % 3;
    SentenceState state;
    state.options = &options;
    state.spec = &spec;
    state.length = 1;
    state.maximum_length = 9;
    state.live.resize(core::random_below(static_cast<std::uint64_t>(beam_size), 2, round, 0) + 1);
    const auto rows = static_cast<std::int64_t>(state.live.size());
    // Log probabilities and sums of few values, which are often equal.
    std::vector<std::int32_t> candidates;
    std::vector<double> log_probabilities;
    for (std::int64_t row = 0; row < rows; ++row) {
      state.live[static_cast<std::size_t>(row)].log_probability = -0.25 * std::floor(4 * uniform(++stream, 0));
      double value = 0;
      for (std::int64_t rank = 0; rank < per_row; ++rank) {
        value -= 0.25 * std::floor(3 * uniform(stream, static_cast<std::uint64_t>(rank) + 1));
        if (round % 4 == 3 && uniform(stream, static_cast<std::uint64_t>(rank) + 1000) < 0.2)
          value = -std::numeric_limits<double>::infinity();
        log_probabilities.push_back(value);
        candidates.push_back(static_cast<std::int32_t>((rank * 7 + row * 3 + round) % spec.target_vocabulary));
      }
    }
    std::vector<double> sums;
    for (const LiveHypothesis& hypothesis : state.live) sums.push_back(hypothesis.log_probability);
    const std::int32_t next = strategy->next_rows(state);
    ASSERT_GT(next, 0);

    std::vector<std::int32_t> tokens(static_cast<std::size_t>(next) + 1, -7), parents = tokens;
    const std::vector<ops::NextRows> choices{{.first_row = 0,
                                              .rows = static_cast<std::int32_t>(rows),
                                              .candidates = static_cast<std::int32_t>(wanted),
                                              .first_next = 1,
                                              .next = next}};
    context->step([&] {
      const tensor::Tensor on_device = context->arena().allocate(rows, per_row, tensor::DType::kI32, context->device());
      const tensor::Tensor of_tokens = context->allocate(rows, per_row);
      context->memory().copy_in(on_device.data, candidates.data(), candidates.size() * sizeof(std::int32_t));
      const std::vector<float> floats(log_probabilities.begin(), log_probabilities.end());
      context->memory().copy_in(of_tokens.data, floats.data(), floats.size() * sizeof(float));
      const auto uploaded_tokens = context->upload(std::span<const std::int32_t>(tokens));
      const auto uploaded_parents = context->upload(std::span<const std::int32_t>(parents));
      ops::choose_next(*context, {on_device, of_tokens, sums, choices}, kEnd, uploaded_tokens, uploaded_parents);
      context->memory().copy_out(tokens.data(), uploaded_tokens.data, tokens.size() * sizeof(std::int32_t));
      context->memory().copy_out(parents.data(), uploaded_parents.data, parents.size() * sizeof(std::int32_t));
    });
    EXPECT_EQ(tokens[0], -7);
    EXPECT_EQ(parents[0], -7);

    // As the loop hands them over, without what is beyond what the strategy wants.
    std::vector<std::int32_t> own;
    std::vector<double> own_log_probabilities;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t rank = 0; rank < wanted; ++rank) {
        own.push_back(candidates[static_cast<std::size_t>(row * per_row + rank)]);
        own_log_probabilities.push_back(log_probabilities[static_cast<std::size_t>(row * per_row + rank)]);
      }
    Advance advance;
    strategy->advance(state, {own, own_log_probabilities, wanted}, advance);
    ASSERT_LE(advance.continuations.size(), static_cast<std::size_t>(next));
    fewer += advance.continuations.size() < static_cast<std::size_t>(next) ? 1 : 0;
    double last = 1;
    for (std::size_t i = 0; i < advance.continuations.size(); ++i) {
      const Advance::Continuation& continuation = advance.continuations[i];
      EXPECT_EQ(tokens[i + 1], continuation.token) << "round " << round << ", choice " << i;
      EXPECT_EQ(parents[i + 1], continuation.parent) << "round " << round << ", choice " << i;
      const double total = sums[static_cast<std::size_t>(continuation.parent)] + continuation.log_probability;
      ties += total == last ? 1 : 0;
      last = total;
    }
    for (const std::int32_t parent : std::span(parents).subspan(1)) EXPECT_TRUE(parent >= 0 && parent < rows);
    for (const std::int32_t token : std::span(tokens).subspan(1)) EXPECT_TRUE(token >= 0 && token < 50);
  }
  EXPECT_GT(ties, 20);
  EXPECT_GT(fewer, 5);
}

}  // namespace
}  // namespace dragoman::decoding
