#include "data/batch_source.h"

#include "configuration/text_config.h"
#include "data/random_streams.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;

std::uint64_t seed_of_window(std::uint64_t seed, const WindowKey& key) {
  const core::RandomBlock block = core::random_block(
      seed, random_streams::kWindow + static_cast<std::uint64_t>(key.window), static_cast<std::uint64_t>(key.epoch));
  return (std::uint64_t{block[1]} << 32) | block[0];
}

}  // namespace

// --- windows ---

std::vector<double> WindowMaker::weights_of(std::size_t phase) const {
  const std::vector<PhaseConfig>& phases = config_->data.phases;
  std::vector<double> weights = corpus_->weights();
  if (!phases.empty() && !phases[phase].weights.empty()) weights = phases[phase].weights;
  if (!phases.empty() && phases[phase].temperature > 0)
    weights = weights_by_temperature(corpus_->pairs_of_texts(), phases[phase].temperature);
  if (weights.empty()) weights.assign(corpus_->pairs_of_texts().size(), 1);
  return weights;
}

std::vector<WindowMaker::BlockUse> WindowMaker::order_of_epoch(std::int64_t epoch, std::size_t phase) const {
  const std::vector<double> weights = weights_of(phase);
  std::vector<BlockUse> uses;
  // For each text, the number of pairs up to a block: shares are rounded over the whole text.
  std::vector<double> before(weights.size());
  for (std::size_t block = 0; block < corpus_->blocks(); ++block) {
    const std::size_t text = corpus_->text_of_block(block);
    const std::uint64_t pairs = corpus_->pairs_of_block(block);
    const double whole = std::floor(weights[text]);
    const double part = weights[text] - whole;
    for (double times = 0; times < whole; ++times) uses.push_back({block, pairs});
    const double behind = before[text] + static_cast<double>(pairs);
    const auto share = static_cast<std::uint64_t>(std::llround(part * behind) - std::llround(part * before[text]));
    before[text] = behind;
    if (share > 0) uses.push_back({block, share});
  }
  std::vector<std::uint32_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  core::shuffle(order, config_->training.seed, random_streams::kBlockOrder + static_cast<std::uint64_t>(epoch));
  std::vector<BlockUse> shuffled;
  for (const std::uint32_t i : order) shuffled.push_back(uses[i]);
  return shuffled;
}

std::int64_t WindowMaker::windows(std::int64_t epoch, std::size_t phase) const {
  if (!corpus_->on_disk()) return 1;
  return static_cast<std::int64_t>((order_of_epoch(epoch, phase).size() + kWindowBlocks - 1) / kWindowBlocks);
}

double WindowMaker::tokens_of_epoch(std::size_t phase) const {
  const std::vector<double> weights = weights_of(phase);
  double pairs = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    pairs += weights[i] * static_cast<double>(corpus_->pairs_of_texts()[i]);
  return pairs / static_cast<double>(corpus_->size()) *
         static_cast<double>(corpus_->source_tokens() + corpus_->target_tokens());
}

std::uint64_t WindowMaker::pairs_of_epoch(std::size_t phase) const {
  const std::vector<double> weights = weights_of(phase);
  std::uint64_t pairs = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto all = static_cast<double>(corpus_->pairs_of_texts()[i]);
    const double whole = std::floor(weights[i]);
    pairs +=
        static_cast<std::uint64_t>(whole * all) + static_cast<std::uint64_t>(std::llround((weights[i] - whole) * all));
  }
  return pairs;
}

void WindowMaker::append_share(const BlockUse& use, std::int64_t epoch, EncodedPairs& pairs,
                               const std::stop_token& stop) const {
  const std::uint64_t all = corpus_->pairs_of_block(use.block);
  if (use.pairs == all) return corpus_->append_block(use.block, epoch, pairs, stop);
  EncodedPairs block;
  corpus_->append_block(use.block, epoch, block, stop);
  std::vector<std::uint32_t> which(all);
  std::iota(which.begin(), which.end(), std::uint32_t{0});
  core::shuffle(
      which, config_->training.seed,
      random_streams::kBlockShare + (static_cast<std::uint64_t>(use.block) << 32) + static_cast<std::uint64_t>(epoch));
  which.resize(use.pairs);
  for (const std::uint32_t i : which) {
    pairs.source.append(block.source[i]);
    pairs.target.append(block.target[i]);
    if (block.aligned()) pairs.links.append(block.links[i]);
  }
}

std::unique_ptr<BatchWindow> WindowMaker::make(const WindowKey& key, core::Executor& executor,
                                               const std::stop_token& stop) const {
  auto window = std::make_unique<BatchWindow>();
  BatchOptions options{.batch_tokens = config_->training.batch_tokens,
                       .bucket_window = config_->data.bucket_window,
                       .seed = config_->training.seed};
  window->pairs = &window->own;
  if (corpus_->on_disk()) {
    const std::vector<BlockUse> order = order_of_epoch(key.epoch, key.phase);
    const auto first = static_cast<std::size_t>(key.window) * kWindowBlocks;
    for (std::size_t i = first; i < std::min(first + kWindowBlocks, order.size()); ++i)
      append_share(order[i], key.epoch, window->own, stop);
    options.seed = seed_of_window(config_->training.seed, key);
  } else {
    if (corpus_->draws())
      window->own = corpus_->drawn(key.epoch, executor, stop);
    else
      window->pairs = &corpus_->pairs();
    if (!config_->data.phases.empty()) options.weights = weights_of(key.phase);
  }
  window->plan.emplace(*window->pairs, options, key.epoch);
  core::require(window->plan->batches() > 0, ErrorCode::kBadInput,
                "epoch {} has no pair: the texts with a weight in phase {} of data.phases have none", key.epoch + 1,
                key.phase + 1);
  return window;
}

// --- creating windows ahead ---

/// A window that is being created.
struct BatchSource::Ahead {
  WindowKey key;
  std::unique_ptr<BatchWindow> window;
  std::exception_ptr error;
  std::stop_source stop;
  std::optional<std::jthread> thread;

  ~Ahead() { stop.request_stop(); }
};

BatchSource::BatchSource(const TrainingConfig& config, const Corpus& corpus, core::Executor& executor)
    : config_(&config), maker_(config, corpus), executor_(&executor) {
  // Reported now rather than when the phase begins, possibly days later.
  for (std::size_t phase = 0; phase < std::max<std::size_t>(config.data.phases.size(), 1); ++phase)
    core::require(maker_.pairs_of_epoch(phase) > 0, ErrorCode::kBadInput,
                  "{}: an epoch has no pair, since the pairs of each text times its weight are none when they are "
                  "rounded; raise a weight",
                  config.data.phases.empty() ? std::string("data.train") : fmt::format("data.phases[{}]", phase));
}
BatchSource::~BatchSource() = default;

void BatchSource::start_ahead(const WindowKey& key) {
  if (ahead_ && ahead_->key == key) return;
  ahead_ = std::make_unique<Ahead>();
  ahead_->key = key;
  Ahead* const ahead = ahead_.get();
  ahead->thread = core::try_start_thread([ahead, this] {
    try {
      core::SequentialExecutor executor;
      ahead->window = maker_.make(ahead->key, executor, ahead->stop.get_token());
    } catch (...) {
      ahead->error = std::current_exception();
    }
  });
  // Without a thread, the window is created when it is needed.
  if (!ahead->thread) ahead_.reset();
}

std::unique_ptr<BatchWindow> BatchSource::take(const WindowKey& key) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<BatchWindow> window;
  if (ahead_ && ahead_->key == key) {
    const std::unique_ptr<Ahead> ahead = std::move(ahead_);
    ahead->thread->join();
    if (ahead->error) std::rethrow_exception(ahead->error);
    window = std::move(ahead->window);
  } else {
    ahead_.reset();
    window = maker_.make(key, *executor_, {});
  }
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return window;
}

// --- batches ---

void BatchSource::load(std::int64_t window, std::int64_t first_batch) {
  WindowKey key = key_;
  key.window = window;
  loaded_.push_back({.window = window, .first_batch = first_batch, .content = take(key)});
  // The next window. For a corpus in memory this is the next epoch, as far as it is known.
  WindowKey next = key;
  if (++next.window == windows_) next = {.epoch = key.epoch + 1, .phase = key.phase, .window = 0};
  if (next.window == 0) next.phase = std::max(key.phase, phase_of(config_->data.phases, next.epoch, 0));
  start_ahead(next);
}

void BatchSource::load_next() {
  load(loaded_.back().window + 1, loaded_.back().end());
}

void BatchSource::go_to(const TrainingState& state) {
  const std::size_t phase = phase_of(config_->data.phases, state.epoch, state.update);
  if (key_.epoch != state.epoch || key_.phase != phase || state.batch < batch_) {
    key_ = {.epoch = state.epoch, .phase = phase, .window = 0};
    windows_ = maker_.windows(state.epoch, phase);
    loaded_.clear();
    core::require(windows_ > 0, ErrorCode::kBadInput, "epoch {} has no pair: the texts with a weight have none",
                  state.epoch + 1);
  }
  batch_ = state.batch;
  if (loaded_.empty()) {
    const bool known = state.window < windows_ && state.window_begin <= state.batch;
    load(known ? state.window : 0, known ? state.window_begin : 0);
  }
  while (state.batch >= loaded_.back().end() && loaded_.back().window + 1 < windows_) {
    load_next();
    loaded_.pop_front();
  }
  core::require(state.batch < loaded_.back().end(), ErrorCode::kBadInput,
                "{}: the checkpoint stands at batch {} of epoch {}, which has {}", config_->output, state.batch,
                state.epoch + 1, loaded_.back().end());
  while (loaded_.front().end() <= state.batch) loaded_.pop_front();
}

std::int64_t BatchSource::available(std::int64_t most) {
  while (loaded_.back().end() < batch_ + most && loaded_.back().window + 1 < windows_) load_next();
  return std::min(most, loaded_.back().end() - batch_);
}

const BatchSource::Loaded& BatchSource::window_of(std::int64_t batch) const {
  for (const Loaded& window : loaded_)
    if (batch < window.end()) return window;
  core::fail(ErrorCode::kInternal, "batch {} was not counted by available()", batch);
}

std::int64_t BatchSource::target_tokens(std::int64_t i) const {
  const Loaded& window = window_of(batch_ + i);
  std::int64_t tokens = 0;
  for (const std::uint32_t pair : window.content->plan->batch(batch_ + i - window.first_batch))
    tokens += window.content->pairs->target.length(pair);
  return tokens;
}

void BatchSource::assign(std::int64_t i, Batch& batch, std::int32_t decoder_start, std::int64_t bucket) const {
  const Loaded& window = window_of(batch_ + i);
  batch.assign(*window.content->pairs, window.content->plan->batch(batch_ + i - window.first_batch), decoder_start,
               bucket);
}

bool BatchSource::goes_on_behind(std::int64_t batches) const {
  return batch_ + batches < loaded_.back().end() || loaded_.back().window + 1 < windows_;
}

std::int64_t BatchSource::batches_of_epoch() const {
  const Loaded& last = loaded_.back();
  if (last.window + 1 == windows_) return last.end();
  const EncodedPairs& pairs = *last.content->pairs;
  const double share =
      maker_.tokens_of_epoch(key_.phase) / static_cast<double>(pairs.source.total() + pairs.target.total());
  return std::llround(static_cast<double>(last.content->plan->batches()) * share);
}

void BatchSource::advance(TrainingState& state, std::int64_t batches) const {
  ++state.update;
  state.batch += batches;
  const bool same_phase = phase_of(config_->data.phases, state.epoch, state.update) == key_.phase;
  if (same_phase && goes_on_behind(batches)) return note_window(state);
  state.batch = state.window = state.window_begin = 0;
  ++state.epoch;
}

/// Stores the window of a batch that the epoch has.
void BatchSource::note_window(TrainingState& state) const {
  const Loaded& last = loaded_.back();
  const bool comes_next = state.batch >= last.end();
  const Loaded& with_batch = comes_next ? last : window_of(state.batch);
  state.window = comes_next ? last.window + 1 : with_batch.window;
  state.window_begin = comes_next ? last.end() : with_batch.first_batch;
}

double BatchSource::take_waiting() noexcept {
  return std::exchange(waited_, 0);
}

}  // namespace dragoman::training
