#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

#include <dragoman/autograd/training_mode.h>
#include <dragoman/autograd/variable.h>
#include <dragoman/tensor/context.h>

namespace dragoman::autograd {

/// The record of one step's ops, in the order in which they ran. It knows no op: a record is a closure in the
/// host's step memory.
/// One thread; valid until the context's next step.
class Tape {
 public:
  /// The gradients of an op's results: one, two, or none that anything hangs on.
  struct Outputs {
    Gradient* first = nullptr;
    Gradient* second = nullptr;
    Outputs(Gradient* only) : first(only) {}  // NOLINT(google-explicit-*): an op has one, as a rule
    Outputs(Gradient* one, Gradient* other) : first(one), second(other) {}
  };

  /// Appends a record. `backward(context)` is run by backward() only if one of the outputs was written by then
  /// (nullptr: always), and the memory of their gradients is others' when it returns. So a value is the output of one
  /// record. What `backward` allocates from the arena is freed when it returns, too; gradients come from target_of().
  /// The closure is kept in step memory and never destroyed, so it may hold nothing that owns.
  template <class Backward>
  void record(Context& context, Outputs outputs, Backward backward) {
    static_assert(std::is_trivially_destructible_v<Backward>, "a record may hold nothing that owns");
    void* memory = context.host_arena().allocate(sizeof(Node<Backward>));
    auto* node = new (memory) Node<Backward>{{last_, outputs, &Node<Backward>::run}, std::move(backward)};
    last_ = node;
    ++count_;
  }

  /// Runs the records from last to first and forgets them.
  void backward(Context& context);
  /// Forgets all records.
  void clear() noexcept {
    last_ = nullptr;
    count_ = 0;
  }

  /// Whoever wants to know how far backward() has come: it hears how many records are left, before the first one is run
  /// and after each. Gradients whose `first_record` is not below that are complete, if recording() heard of them before
  /// the pass began.
  using Progress = std::function<void(std::int64_t left)>;
  void set_progress(Progress progress) { progress_ = std::move(progress); }

  /// Notes that the next record may write the gradient. nullptr: of what wants none.
  void note(Gradient* gradient) const noexcept {
    if (gradient != nullptr) gradient->first_record = std::min(gradient->first_record, count_);
  }

 private:
  struct NodeBase {
    NodeBase* previous;
    Outputs outputs;
    void (*run)(NodeBase*, Context&);
  };
  template <class Backward>
  struct Node : NodeBase {
    Backward backward;
    static void run(NodeBase* base, Context& context) { static_cast<Node*>(base)->backward(context); }
  };

  NodeBase* last_ = nullptr;
  std::int64_t count_ = 0;
  Progress progress_;
};

/// True if an op on these operands has to be recorded. Names them to the tape: an op calls it with all whose gradients
/// its records write, before it makes the first of these records.
template <class... Variables>
bool recording(const Context& context, const Variables&... variables) {
  const Tape* const tape = tape_of(context);
  if (tape == nullptr || !(variables.needs_gradient() || ...)) return false;
  (tape->note(variables.gradient), ...);
  return true;
}

/// Appends a record to the context's tape, as Tape::record() does. Only after recording() has returned true.
template <class Backward>
void record(Context& context, Tape::Outputs outputs, Backward backward) {
  tape_of(context)->record(context, outputs, std::move(backward));
}

/// A Variable around `value` with a fresh gradient in step memory if `wanted`.
Variable make_variable(Context& context, const Tensor& value, bool wanted);

/// Where to write a gradient: allocates gradient memory at the first write of an activation's gradient.
GradientTarget target_of(Context& context, Gradient& gradient);

/// Seeds the gradient of `variable` with `seed` (same shape), as the start of a backward pass.
void seed_gradient(Context& context, const Variable& variable, const Tensor& seed);

}  // namespace dragoman::autograd
