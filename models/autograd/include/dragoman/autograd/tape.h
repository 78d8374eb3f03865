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

/// Records the ops of one step in the order in which they ran. It knows no op: a record is a closure in the host's step
/// memory. Belongs to one thread; valid until the context's next step.
///
///     Variable square(Context& context, const Variable& x, const Tensor& gradient_of_square) {
///       Tape tape;
///       training_mode(context).set_tape(&tape);
///       const Variable y = ops::multiply(context, x, x);                // ops/elementwise.h
///       seed_gradient(context, y, gradient_of_square);
///       tape.backward(context);                                         // writes x.gradient
///       training_mode(context).set_tape(nullptr);
///       return y;
///     }
class Tape {
 public:
  /// The gradients of an op's results: one, two or none.
  struct Outputs {
    Gradient* first = nullptr;
    Gradient* second = nullptr;
    Outputs(Gradient* only) : first(only) {}  // NOLINT(google-explicit-*): an op has one, as a rule
    Outputs(Gradient* one, Gradient* other) : first(one), second(other) {}
  };

  /// Appends a record. Tape::backward() calls `backward(context)` only if one of the outputs has been written by then.
  /// A nullptr output means that it is always called. When the call returns, the memory of the outputs' gradients is
  /// released. Therefore a value may be the output of one record only.
  ///
  /// Arena memory that `backward` allocates is freed when it returns, too. Gradients come from target_of(). The closure
  /// is kept in step memory and never destroyed, so it must not own anything.
  template <class Backward>
  void record(Context& context, Outputs outputs, Backward backward) {
    static_assert(std::is_trivially_destructible_v<Backward>, "a record may hold nothing that owns");
    void* memory = context.host_arena().allocate(sizeof(Node<Backward>));
    auto* node = new (memory)
        Node<Backward>{{last_, outputs, context.arena().mark(), &Node<Backward>::run}, std::move(backward)};
    last_ = node;
    ++count_;
  }

  /// Step memory between two marks, as a span of the forward pass.
  struct Values {
    tensor::Arena::Mark begin;
    tensor::Arena::Mark end;
  };

  /// Runs the records from last to first and forgets them. `spent` is memory that nobody reads after the pass: as soon
  /// as a record has run, the memory that its op allocated there serves gradients. Pass the whole span of the layers.
  /// An op must not let a record use memory that is allocated after the record; see seed_gradient().
  void backward(Context& context, const Values& spent = {});
  /// Forgets all records.
  void clear() noexcept {
    last_ = nullptr;
    count_ = 0;
  }

  /// Receives the progress of backward(): the number of records left, before the first record runs and after each one.
  /// A gradient whose `first_record` is at least `left` is complete. This holds only for gradients that recording()
  /// noted before the pass began.
  using Progress = std::function<void(std::int64_t left)>;
  void set_progress(Progress progress) { progress_ = std::move(progress); }

  /// Notes that the next record may write the gradient. nullptr is ignored: the value needs no gradient.
  void note(Gradient* gradient) const noexcept {
    if (gradient != nullptr) gradient->first_record = std::min(gradient->first_record, count_);
  }

 private:
  struct NodeBase {
    NodeBase* previous;
    Outputs outputs;
    tensor::Arena::Mark allocated;  ///< the end of step memory when this record was made
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

/// Returns true if an op on these operands must be recorded. Then it also notes their gradients on the tape. An op
/// passes all variables whose gradients its records write, before it appends the first of these records.
template <class... Variables>
bool recording(const Context& context, const Variables&... variables) {
  const Tape* const tape = tape_of(context);
  if (tape == nullptr || !(variables.needs_gradient() || ...)) return false;
  (tape->note(variables.gradient), ...);
  return true;
}

/// Appends a record to the context's tape; see Tape::record(). Call it only after recording() has returned true.
template <class Backward>
void record(Context& context, Tape::Outputs outputs, Backward backward) {
  tape_of(context)->record(context, outputs, std::move(backward));
}

/// Returns a Variable for `value`, with a fresh gradient in step memory if `wanted`.
Variable make_variable(Context& context, const Tensor& value, bool wanted);

/// Returns the target for writing a gradient. The first write of an activation's gradient allocates its memory.
GradientTarget target_of(Context& context, Gradient& gradient);

/// Starts a backward pass: sets the gradient of `variable` to `seed`, which has the same shape. An op that computes a
/// gradient in the forward pass writes it to target_of() instead.
void seed_gradient(Context& context, const Variable& variable, const Tensor& seed);

}  // namespace dragoman::autograd
