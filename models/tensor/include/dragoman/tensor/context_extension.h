#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dragoman::tensor {

/// The place of an extension in a context: one for each layer above `tensor` that keeps state with contexts.
struct ExtensionSlot {
  static constexpr std::size_t kCount = 3;
  std::size_t index = 0;
};

/// The values of an extension that decide which kernels the body of a step calls, and with which arguments.
using ExtensionState = std::array<std::uint64_t, 4>;
using ExtensionStates = std::array<ExtensionState, ExtensionSlot::kCount>;

/// State that a layer above keeps with a context, attached by Context::attach(). A subclass names its place,
/// `static constexpr ExtensionSlot kSlot`. The context calls it at the borders of steps only.
class ContextExtension {
 public:
  ContextExtension() = default;
  ContextExtension(const ContextExtension&) = delete;
  ContextExtension& operator=(const ContextExtension&) = delete;
  virtual ~ContextExtension();

  /// A step begins; the step memory of the last one is free.
  virtual void begin_step() {}
  /// Whether results of ops are read after the layer that computed them, so LayerMemory must not free them.
  virtual bool keeps_results() const { return false; }
  /// Whether the device may record the current step.
  virtual bool allows_recording() const { return true; }
  /// Part of a recorded step's signature.
  virtual ExtensionState state() const { return {}; }
  /// The device replays a step. `state` is the value of state() at the end of the recorded body.
  virtual void resume(const ExtensionState& state) { static_cast<void>(state); }
};

}  // namespace dragoman::tensor
