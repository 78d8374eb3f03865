#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dragoman::tensor {

/// The slot of an extension in a context. Each layer above `tensor` that keeps state with contexts has one.
struct ExtensionSlot {
  static constexpr std::size_t kCount = 3;
  std::size_t index = 0;
};

/// The part of an extension's state that decides which kernels the body of a step calls, and with which arguments.
using ExtensionState = std::array<std::uint64_t, 4>;
using ExtensionStates = std::array<ExtensionState, ExtensionSlot::kCount>;

/// State that a higher layer keeps with a context, attached by Context::attach(). A subclass defines its slot: `static
/// constexpr ExtensionSlot kSlot`. The context calls it at the boundaries of steps and layers, never for each op.
///
/// The context owns it and destroys it. It belongs to the context's thread. The slots are used by the library's own
/// layers, so plugins cannot add extensions.
class ContextExtension {
 public:
  ContextExtension() = default;
  ContextExtension(const ContextExtension&) = delete;
  ContextExtension& operator=(const ContextExtension&) = delete;
  virtual ~ContextExtension();

  /// Called when a step begins, after the step memory of the previous step was freed.
  virtual void begin_step() {}
  /// Frees what the extension keeps of the last step; see Context::free_step_memory().
  virtual void free_step_memory() {}
  /// Returns true if results of ops are read after the layer that computed them, so that LayerMemory must not free
  /// them.
  virtual bool keeps_results() const { return false; }
  /// Returns true if the device may record the current step.
  virtual bool allows_recording() const { return true; }
  /// Returns the part of a recorded step's signature that depends on this extension.
  virtual ExtensionState state() const { return {}; }
  /// Called when the device replays a step. `state` is the value of state() at the end of the recorded body.
  virtual void resume(const ExtensionState& state) { static_cast<void>(state); }
  /// The body of a step begins once more, after an attempt of which nothing has run. `state` is the value of state() at
  /// the beginning of that attempt.
  virtual void restart(const ExtensionState& state) { resume(state); }
};

}  // namespace dragoman::tensor
