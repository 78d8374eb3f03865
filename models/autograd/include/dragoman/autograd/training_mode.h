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

/// How ops run on a context while a model is trained: the tape, dropout, random numbers, recomputation, number type.
/// training_mode() attaches it to a context; a context without one is for inference. Same thread as the context.
///
/// Trainers set it. Ops and models read it through the functions below and through tape.h.
class TrainingMode final : public tensor::ContextExtension {
 public:
  static constexpr tensor::ExtensionSlot kSlot{0};

  explicit TrainingMode(tensor::DeviceMemory& memory) : memory_(&memory), gradients_(memory) {}

  /// Where ops record their backward passes; nullptr: they record nothing.
  Tape* tape() const noexcept { return tape_; }
  void set_tape(Tape* tape) noexcept { tape_ = tape; }

  /// Whether dropout applies.
  bool training() const noexcept { return training_; }
  void set_training(bool training) noexcept { training_ = training; }

  /// Whether ops::recompute() keeps only the inputs and outputs of its body, and computes the rest again in the
  /// backward pass.
  bool recomputes() const noexcept { return recomputes_; }
  void set_recomputes(bool recomputes) noexcept { recomputes_ = recomputes; }

  /// The type in which plain weights and their gradients are multiplied: Backend::training_type(). Packed weights have
  /// another, PackedWeight::type().
  tensor::ComputeType compute_type() const noexcept { return compute_type_; }
  void set_compute_type(tensor::ComputeType type) noexcept { compute_type_ = type; }

  /// Sets the key of all random numbers from now on, and starts with stream 0.
  void set_random(std::uint64_t seed, std::uint64_t step);
  /// The randomness of one op; the next call returns the next stream. Without set_random() it is
  /// Error{kInvalidArgument}.
  tensor::RandomState next_random();
  /// A number in [0, 1) for the host to decide by; it takes a stream, as next_random() does. The decision differs
  /// between steps, so such steps cannot be recorded.
  double next_uniform();
  /// The stream of the next random op. Set it to run random ops again.
  std::uint64_t random_stream() const noexcept { return random_stream_; }
  void set_random_stream(std::uint64_t stream) noexcept { random_stream_ = stream; }

  /// Memory of the gradients of activations; a backward pass releases each after its last use.
  tensor::FreeListArena& gradient_memory() noexcept { return gradients_; }

  void begin_step() override { gradients_.reset(); }
  bool keeps_results() const override { return tape_ != nullptr; }
  tensor::ExtensionState state() const override;
  void resume(const tensor::ExtensionState& state) override;

 private:
  tensor::DeviceMemory* memory_;
  tensor::FreeListArena gradients_;
  Tape* tape_ = nullptr;
  bool training_ = false;
  bool recomputes_ = false;
  tensor::ComputeType compute_type_ = tensor::ComputeType::kF32;
  tensor::Buffer device_key_;
  tensor::RandomKey key_;  ///< the same on the host
  std::uint64_t random_stream_ = 0;
};

/// The training mode of a context; the first call attaches one.
TrainingMode& training_mode(Context& context);

/// Whether dropout applies: false in inference.
inline bool is_training(const Context& context) noexcept {
  const auto* mode = context.extension<TrainingMode>();
  return mode != nullptr && mode->training();
}

/// The tape of a context; nullptr in inference.
inline Tape* tape_of(const Context& context) noexcept {
  const auto* mode = context.extension<TrainingMode>();
  return mode == nullptr ? nullptr : mode->tape();
}

/// TrainingMode::compute_type(); F32 in inference.
inline tensor::ComputeType training_compute_type(const Context& context) noexcept {
  const auto* mode = context.extension<TrainingMode>();
  return mode == nullptr ? tensor::ComputeType::kF32 : mode->compute_type();
}

/// TrainingMode::next_random() and next_uniform(). Error{kInvalidArgument} if the context has no seed.
tensor::RandomState next_random(Context& context);
double next_uniform(Context& context);

/// While it lives, ops on the context record nothing.
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
