#include "update/memory_budget.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/sizes.h>
#include <dragoman/training/batches.h>
#include <dragoman/training/loss.h>

namespace dragoman::training {
namespace {

using core::describe_size;

/// Counts the bytes that are allocated at the same time.
class CountingMemory final : public tensor::DeviceMemory {
 public:
  explicit CountingMemory(tensor::DeviceMemory& memory) : memory_(&memory) {}
  void* allocate(std::size_t bytes) override {
    void* const data = memory_->allocate(bytes);
    const std::uint64_t now = allocated_ += bytes;
    std::uint64_t most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) continue;
    return data;
  }
  void deallocate(void* data, std::size_t bytes) noexcept override {
    memory_->deallocate(data, bytes);
    allocated_ -= bytes;
  }
  bool host_readable() const noexcept override { return memory_->host_readable(); }
  bool reads_host_memory() const noexcept override { return memory_->reads_host_memory(); }
  void copy_in(void* to, const void* from, std::size_t bytes) override { memory_->copy_in(to, from, bytes); }
  void upload(void* to, const void* from, std::size_t bytes) override { memory_->upload(to, from, bytes); }
  void copy_out(void* to, const void* from, std::size_t bytes) override { memory_->copy_out(to, from, bytes); }
  std::unique_ptr<tensor::PendingRead> begin_read(const void* from, std::size_t bytes) override {
    return memory_->begin_read(from, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override { memory_->copy(to, from, bytes); }
  void clear(void* data, std::size_t bytes) override { memory_->clear(data, bytes); }
  void queue_copy(void* to, const void* from, std::size_t bytes) override { memory_->queue_copy(to, from, bytes); }
  void queue_clear(void* data, std::size_t bytes) override { memory_->queue_clear(data, bytes); }

  std::uint64_t most() const noexcept { return most_; }

 private:
  tensor::DeviceMemory* memory_;
  std::atomic<std::uint64_t> allocated_{0};
  std::atomic<std::uint64_t> most_{0};
};

/// Returns `pairs` pairs with `length` tokens per side, optionally with a link per token.
EncodedPairs made_up(std::int64_t pairs, std::int64_t length, std::int32_t end, bool aligned) {
  const std::vector<std::int32_t> sequence(static_cast<std::size_t>(length), end);
  std::vector<std::int32_t> links;
  for (std::int32_t token = 0; token < length; ++token) links.insert(links.end(), {token, token});
  EncodedPairs made;
  for (std::int64_t i = 0; i < pairs; ++i) {
    made.source.append(sequence);
    made.target.append(sequence);
    if (aligned) made.links.append(links);
  }
  return made;
}

/// Returns the bytes that the step of a batch of `tokens` tokens takes.
std::uint64_t bytes_of_step(const BatchTrial& trial, std::int64_t tokens, bool recomputes) {
  const TrainConfig& recipe = trial.config.training;
  const std::int64_t length = std::min<std::int64_t>(trial.config.data.maximum_length, tokens);
  tensor::Context& usual = trial.context;
  CountingMemory memory(usual.memory());
  const std::unique_ptr<nn::Seq2SeqModel> model = trial.make_model();
  nn::ParameterStore& parameters = model->parameters();
  parameters.initialise(recipe.seed);
  parameters.attach_gradients(usual.memory());
  const nn::SequenceSpec& spec = model->spec();
  const bool aligned = has_alignments(trial.config.data.train) && recipe.guided_alignment.weight > 0;
  const EncodedPairs pairs = made_up(tokens / length, length, spec.end, aligned);
  std::vector<std::uint32_t> all(pairs.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i);
  Batch batch;
  batch.assign(pairs, all, spec.decoder_start, std::max<std::int64_t>(recipe.row_bucket, 1));
  if (recipe.r_drop > 0) batch.repeat();

  tensor::Context context(usual.kernels(), usual.device(), memory, usual.float_type(), usual.executor());
  autograd::TrainingMode& mode = autograd::training_mode(context);
  mode.set_compute_type(autograd::training_compute_type(usual));
  mode.set_recomputes(recomputes);
  LossOptions loss(uniform_smoothing(recipe, spec.target_vocabulary));
  loss.r_drop = recipe.r_drop;
  loss.guided_alignment = recipe.guided_alignment;
  // The second step merges the blocks that the first one allocated one by one.
  for (std::uint64_t step = 0; step < 2; ++step) {
    parameters.begin_gradients();
    accumulate_gradients(context, *model, batch, loss, 1.0 / static_cast<double>(tokens),
                         {.seed = recipe.seed, .step = step});
    parameters.finish_gradients();
  }
  return memory.most() + context.host_arena().bytes_reserved();
}

/// The memory of a batch, as a linear function through two trials.
struct Cost {
  double once = 0;
  double each = 0;  ///< per token
  double of(std::int64_t tokens) const noexcept { return once + each * static_cast<double>(tokens); }
};

Cost cost_of_batches(const BatchTrial& trial, bool recomputes) {
  const std::int64_t longest = trial.config.data.maximum_length;
  const std::int64_t pairs = std::max<std::int64_t>(1, 512 / longest);
  const std::array<std::int64_t, 2> tokens{pairs * longest, 3 * pairs * longest};
  const auto few = static_cast<double>(bytes_of_step(trial, tokens[0], recomputes));
  const auto more = static_cast<double>(bytes_of_step(trial, tokens[1], recomputes));
  const double each = std::max(1.0, (more - few) / static_cast<double>(tokens[1] - tokens[0]));
  return {.once = std::max(0.0, few - each * static_cast<double>(tokens[0])), .each = each};
}

std::string account_of(const MemoryUse& use) {
  std::string text;
  const auto add = [&](std::uint64_t bytes, std::string_view what) {
    if (bytes > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", describe_size(bytes), what);
  };
  add(use.parameters, "of parameters");
  add(use.gradients, "of gradients");
  add(use.optimizer, "of the optimizer");
  add(use.validation, "of the model that is validated");
  add(use.corpus, "of the corpus");
  add(use.program, "of the program");
  return text;
}

}  // namespace

std::int64_t batch_tokens_within(const BatchTrial& trial, const MemoryUse& use, const core::LogSink& log) {
  constexpr double kWorthwhile = 0.95;
  const std::uint64_t budget = trial.config.training.memory;
  const std::int64_t longest = trial.config.data.maximum_length;
  const bool recomputes = autograd::training_mode(trial.context).recomputes();
  const Cost cost = cost_of_batches(trial, recomputes);
  const double room = static_cast<double>(budget) - static_cast<double>(use.sum());
  const double needed = cost.of(longest);
  if (room < needed) {
    // It saves nothing in a stack of one layer or in a model that does not heed it.
    const bool recomputing_helps = !recomputes && cost_of_batches(trial, true).of(longest) < kWorthwhile * needed;
    core::fail(
        core::ErrorCode::kBadInput,
        "training.memory: {} has no room for one pair of data.maximum_length {}, which takes {} beside {}; give it "
        "at least {}{}, or lower data.maximum_length",
        describe_size(budget), longest, describe_size(static_cast<std::uint64_t>(needed)), account_of(use),
        describe_size(use.sum() + static_cast<std::uint64_t>(needed * 1.01)),
        recomputing_helps ? ", set training.recompute: true, which takes less" : "");
  }
  // Slightly less than the linear estimate, because memory blocks have rounded sizes.
  constexpr double kMargin = 0.97;
  constexpr std::int64_t kMax = std::int64_t{1} << 20;
  const double fitting = (room * kMargin - cost.once) / cost.each;
  std::int64_t tokens =
      std::clamp(static_cast<std::int64_t>(std::min(fitting, static_cast<double>(kMax))), longest, kMax);
  constexpr std::int64_t kRound = 64;
  if (tokens > longest + kRound) tokens -= tokens % kRound;
  core::log(log, core::LogLevel::kInfo,
            fmt::format("training.memory {}: {}; {} for a batch of {} tokens, {} each", describe_size(budget),
                        account_of(use), describe_size(static_cast<std::uint64_t>(cost.of(tokens))), tokens,
                        describe_size(static_cast<std::uint64_t>(cost.each))));
  return tokens;
}

}  // namespace dragoman::training
