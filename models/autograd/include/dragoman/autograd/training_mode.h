#pragma once

#include <cstdint>

#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/free_list_arena.h>
#include <dragoman/tensor/random_key.h>

namespace dragoman::autograd {

using tensor::Context;

class Tape;

/// The state of a context during training: the tape, dropout, random numbers, recomputation and compute type.
/// training_mode() attaches it to a context; a context without it is for inference. Belongs to the thread of the
/// context.
///
/// Trainers set it. Ops and models read it through the functions below and through tape.h.
///
///     void begin_update(Context& context, std::uint64_t update) {
///       TrainingMode& mode = training_mode(context);
///       mode.set_training(true);                                        // dropout applies
///       mode.set_random(/*seed=*/1, update);
///     }
class TrainingMode final : public tensor::ContextExtension {
 public:
  static constexpr tensor::ExtensionSlot kSlot{0};

  explicit TrainingMode(tensor::DeviceMemory& memory) : memory_(&memory), gradients_(memory) {}

  /// The tape for backward passes; nullptr: ops record nothing.
  Tape* tape() const noexcept { return tape_; }
  void set_tape(Tape* tape) noexcept { tape_ = tape; }

  /// True if dropout applies.
  bool training() const noexcept { return training_; }
  void set_training(bool training) noexcept { training_ = training; }

  /// True if ops::recompute() keeps only the inputs and outputs of its body and recomputes the rest in the backward
  /// pass.
  bool recomputes() const noexcept { return recomputes_; }
  void set_recomputes(bool recomputes) noexcept { recomputes_ = recomputes; }

  /// The type that plain weights and their gradients are multiplied in: Backend::training_type(). Packed weights use
  /// PackedWeight::type() instead.
  tensor::ComputeType compute_type() const noexcept { return compute_type_; }
  void set_compute_type(tensor::ComputeType type) noexcept { compute_type_ = type; }

  /// Sets the key of all later random numbers, and restarts at stream 0.
  void set_random(std::uint64_t seed, std::uint64_t step);
  /// Returns the randomness of one op and advances to the next stream. Error{kInvalidArgument} before set_random().
  tensor::RandomState next_random();
  /// Returns a random value in [0, 1) for decisions on the host. It uses one stream, like next_random(). Such a
  /// decision may differ between steps, so these steps must not be recorded.
  double next_uniform();
  /// The stream of the next random op. Restore an earlier value to repeat random ops.
  std::uint64_t random_stream() const noexcept { return random_stream_; }
  void set_random_stream(std::uint64_t stream) noexcept { random_stream_ = stream; }

  /// Memory for the gradients of activations. A backward pass releases each gradient after its last use.
  tensor::FreeListArena& gradient_memory() noexcept { return gradients_; }

  void begin_step() override { gradients_.reset(); }
  void free_step_memory() override { gradients_.free_blocks(); }
  bool keeps_results() const override { return tape_ != nullptr; }
  tensor::ExtensionState state() const override;
  void resume(const tensor::ExtensionState& state) override;
  void restart(const tensor::ExtensionState& state) override;

 private:
  tensor::DeviceMemory* memory_;
  tensor::FreeListArena gradients_;
  Tape* tape_ = nullptr;
  bool training_ = false;
  bool recomputes_ = false;
  tensor::ComputeType compute_type_ = tensor::ComputeType::kF32;
  tensor::Buffer device_key_;
  tensor::RandomKey key_;  ///< the copy on the host
  std::uint64_t random_stream_ = 0;
};

/// Returns the training mode of a context. The first call attaches one.
TrainingMode& training_mode(Context& context);

/// Returns true if dropout applies; false in inference.
inline bool is_training(const Context& context) noexcept {
  const auto* mode = context.extension<TrainingMode>();
  return mode != nullptr && mode->training();
}

/// Returns the tape of a context; nullptr in inference.
inline Tape* tape_of(const Context& context) noexcept {
  const auto* mode = context.extension<TrainingMode>();
  return mode == nullptr ? nullptr : mode->tape();
}

/// Returns TrainingMode::compute_type(); kF32 in inference.
inline tensor::ComputeType training_compute_type(const Context& context) noexcept {
  const auto* mode = context.extension<TrainingMode>();
  return mode == nullptr ? tensor::ComputeType::kF32 : mode->compute_type();
}

/// See TrainingMode::next_random() and next_uniform(). Error{kInvalidArgument} if the context has no seed.
tensor::RandomState next_random(Context& context);
double next_uniform(Context& context);

/// Disables recording on a context for the lifetime of this object.
class NoGradient {
 public:
  explicit NoGradient(Context& context) : mode_(context.extension<TrainingMode>()), tape_(tape_of(context)) {
    if (mode_ != nullptr) mode_->set_tape(nullptr);
  }
  NoGradient(const NoGradient&) = delete;
  NoGradient& operator=(const NoGradient&) = delete;
  ~NoGradient() {
    if (mode_ != nullptr) mode_->set_tape(tape_);
  }

 private:
  TrainingMode* mode_;
  Tape* tape_;
};

}  // namespace dragoman::autograd
