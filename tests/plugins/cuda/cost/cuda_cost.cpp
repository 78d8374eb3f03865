#include "costs.h"
#include "emulated_backend.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/random.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/training/loss.h>
#include <dragoman/training/optimizer.h>
#include <dragoman/transformer/transformer.h>

// Prints what an update of a training and a step of a search cost on the emulated device, a line for each kernel:
// workload, kernel, launches, blocks, threads, bytes loaded, bytes stored. The models have the layers of the base
// Transformer, so launches are those of the real one. They are narrow and batches are small, so bytes are not: compare
// them with those of the same program before a change.
namespace dragoman::backend::cuda {
namespace {

namespace emulation = testing::emulation;

constexpr std::int32_t kVocabulary = 256;
constexpr std::int32_t kSentences = 4;

core::Json model_options() {
  return {{"d_model", 64},
          {"heads", 2},
          {"feed_forward", 128},
          {"encoder_layers", 6},
          {"decoder_layers", 6},
          {"tying", "all"},
          {"dropout", {{"embedding", 0.1}, {"sub_layer", 0.1}, {"activation", 0.1}, {"attention", 0.1}}}};
}

/// 13 tokens, as Multi30k's sentences have in the mean.
std::vector<std::int32_t> sentence(std::uint64_t number) {
  std::vector<std::int32_t> ids(13);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(3 + core::random_below(kVocabulary - 3, 1, number, i));
  ids.back() = 2;
  return ids;
}

/// A model on a device that records steps and multiplies through a library, as on a GPU.
struct Setting {
  Setting() {
    nn::ParameterStore& parameters = model->parameters();
    parameters.allocate(memory, tensor::DType::kF32, backend.kernels().device());
    parameters.initialise(1);
    context.set_recorder(backend.make_recorder(context));
  }

  testing::EmulatedCuda backend{"cuda", testing::HiddenBackend::Steps::kReplay};
  tensor::DeviceMemory& memory = backend.memory(0);
  core::SequentialExecutor executor;
  std::unique_ptr<nn::Seq2SeqModel> model = transformer::make_transformer(
      {.source_vocabulary = kVocabulary, .target_vocabulary = kVocabulary}, model_options());
  tensor::Context context{backend.kernels(), memory, tensor::DType::kF32, executor};
};

/// Runs work until it has found its places, and prints what the next run costs.
void print(const char* workload, const std::function<void()>& work) {
  constexpr int kRunsBefore = 3;
  for (int i = 0; i < kRunsBefore; ++i) work();
  emulation::take_costs();
  emulation::set_counted_costs(true);
  work();
  emulation::set_counted_costs(false);
  for (const auto& [kernel, cost] : emulation::take_costs())
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", workload, kernel, cost.launches, cost.blocks, cost.threads, cost.loaded,
               cost.stored);
}

/// bf16, AdamW with clipping, label smoothing and all dropouts.
void print_update() {
  Setting setting;
  nn::ParameterStore& parameters = setting.model->parameters();
  parameters.attach_gradients(setting.memory);
  autograd::training_mode(setting.context).set_compute_type(tensor::ComputeType::kBF16);
  training::EncodedPairs pairs;
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < kSentences; ++i) {
    pairs.source.append(sentence(2 * i));
    pairs.target.append(sentence(2 * i + 1));
    all.push_back(i);
  }
  training::Batch batch;
  batch.assign(pairs, all, 1, 16);
  training::Optimizer optimizer(parameters, setting.memory, {.kind = training::OptimizerKind::kAdamW}, 1, 0);
  const tensor::Buffer losses(setting.memory, sizeof(ops::LossRecord));
  auto* const record = static_cast<ops::LossRecord*>(losses.data());
  std::int64_t update = 0;
  print("update", [&] {
    ++update;
    parameters.begin_gradients();
    training::queue_gradients(setting.context, *setting.model, batch, 0.1, 1.0 / 60,
                              {.seed = 3, .step = static_cast<std::uint64_t>(update)}, record);
    parameters.finish_gradients();
    optimizer.apply(setting.context, {.update = update, .learning_rate = 1e-4, .losses = {record, 1}});
    optimizer.last().wait();
  });
}

/// fp16, a beam of 4: admission of all sentences, and a step in the middle of their translations.
void print_search() {
  Setting setting;
  setting.model->parameters().prepare(setting.context, tensor::ComputeType::kF16);
  decoding::ModelStepper stepper(*setting.model, setting.context);
  std::vector<std::int32_t> tokens, offsets{0}, slots(kSentences);
  for (std::uint64_t i = 0; i < kSentences; ++i) {
    const auto ids = sentence(i);
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    offsets.push_back(static_cast<std::int32_t>(tokens.size()));
  }
  bool admitted = false;
  print("encoding", [&] {
    if (admitted)
      for (const std::int32_t slot : slots) stepper.release(slot);
    stepper.admit({tokens, offsets}, slots);
    admitted = true;
  });
  constexpr std::int32_t kBeam = 4, kRows = kSentences * kBeam, kLength = 8;
  decoding::StepResult result;
  std::unique_ptr<decoding::PendingStep> step;
  std::vector<std::int32_t> next(kRows, 1), next_offsets;
  for (std::int32_t r = 0; r <= kRows; ++r) next_offsets.push_back(r);
  const auto take_step = [&](bool first) {
    std::vector<nn::RowRef> rows;
    std::vector<ops::NextRows> chosen;
    const std::vector<double> sums(kRows, -1.0);
    for (std::int32_t r = 0; r < kRows; ++r)
      rows.push_back({slots[static_cast<std::size_t>(r / kBeam)], first ? -1 : r / kBeam * kBeam});
    for (std::int32_t s = 0; s < kSentences && !first; ++s)
      chosen.push_back(
          {.first_row = s * kBeam, .rows = kBeam, .candidates = 2 * kBeam, .first_next = s * kBeam, .next = kBeam});
    auto begun = stepper.begin({.rows = rows,
                                .next = {next, next_offsets},
                                .candidates = 2 * kBeam,
                                .chosen = chosen,
                                .log_probabilities = sums});
    if (step != nullptr) step->finish(result);
    step = std::move(begun);
  };
  for (int t = 0; t < kLength; ++t) take_step(t == 0);
  print("step", [&] { take_step(false); });
  step.reset();
}

}  // namespace
}  // namespace dragoman::backend::cuda

int main() {
  dragoman::backend::cuda::print_update();
  dragoman::backend::cuda::print_search();
  return 0;
}
