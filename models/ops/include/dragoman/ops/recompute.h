#pragma once

#include <array>

#include <dragoman/ops/elementwise.h>

namespace dragoman::ops {

/// Activation checkpointing (Chen et al. 2016, "Training deep nets with sublinear memory cost"): computes `body` of
/// `inputs` without keeping intermediate results. If gradients are recorded, the body runs once more in the backward
/// pass, with the same random numbers. The results have the same bytes as without recomputation. The cost is one more
/// forward pass and a copy of the results.
///
/// `body(context, inputs) -> results` returns an array of n variables. Each is [rows, cols] of inputs[0] or empty, and
/// the same ones are empty every time. The body is called up to twice. It must not own anything, and everything that it
/// refers to must live until the backward pass is over. Without TrainingMode::recomputes() or a tape, the body is
/// called once and recorded normally.
///
///     Variable checkpointed(Context& context, const Variable& x, const Variable& gain) {
///       const auto body = [gain](Context& ctx, const std::array<Variable, 1>& inputs) {
///         return std::array{multiply(ctx, inputs[0], gain)};            // elementwise.h
///       };
///       return recompute(context, std::array{x}, body)[0];
///     }
template <std::size_t n, class Body>
std::array<Variable, n> recompute(Context& context, const std::array<Variable, n>& inputs, const Body& body);

namespace detail {

/// Saves the tape and the random stream of a context, and restores them at the end of the scope.
class PassScope {
 public:
  PassScope(autograd::TrainingMode& mode, autograd::Tape* tape, std::uint64_t random_stream)
      : mode_(mode), tape_(mode.tape()), random_stream_(mode.random_stream()) {
    mode.set_tape(tape);
    mode.set_random_stream(random_stream);
  }
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;
  ~PassScope() {
    mode_.set_tape(tape_);
    mode_.set_random_stream(random_stream_);
  }

 private:
  autograd::TrainingMode& mode_;
  autograd::Tape* tape_;
  std::uint64_t random_stream_;
};

/// Passes the gradient of `first` to `again`, the second computation of the same result. Adds to it if the result is an
/// input that passed through unchanged.
inline void pass_gradient(Context& context, const Variable& first, const Variable& again, bool is_input) {
  if (!first.needs_gradient() || !first.gradient->written || !again.needs_gradient()) return;
  if (is_input)
    accumulate_gradient(context, again, first.gradient->value);
  else
    autograd::seed_gradient(context, again, first.gradient->value);
}

}  // namespace detail

template <std::size_t n, class Body>
std::array<Variable, n> recompute(Context& context, const std::array<Variable, n>& inputs, const Body& body) {
  static_assert(n >= 1 && n <= 2, "a record has one or two outputs");
  const auto any_wanted = [&] {
    for (const Variable& input : inputs)
      if (!input.empty() && input.needs_gradient()) return true;
    return false;
  };
  auto* const mode = context.extension<autograd::TrainingMode>();
  if (mode == nullptr || !mode->recomputes() || mode->tape() == nullptr || !any_wanted()) return body(context, inputs);

  const std::uint64_t random_stream = mode->random_stream();
  std::array<Variable, n> results;
  for (Variable& result : results) {
    const Tensor& like = inputs[0].value;
    result = autograd::make_variable(context, context.allocate(like.rows, like.cols), true);
  }
  std::uint64_t next_stream = random_stream;
  {
    const tensor::ScratchScope scratch(context.arena());
    const detail::PassScope pass(*mode, nullptr, random_stream);
    const std::array<Variable, n> made = body(context, inputs);
    for (std::size_t i = 0; i < n; ++i) {
      if (made[i].empty())
        results[i] = {};
      else
        context.kernels().get(kScale)(context, {made[i].value, 1.0, results[i].value, false});
    }
    next_stream = mode->random_stream();
  }
  mode->set_random_stream(next_stream);
  autograd::record(context, {results[0].gradient, results[n - 1].gradient},
                   [mode, inputs, results, body, random_stream](Context& ctx) {
                     autograd::Tape tape;
                     const detail::PassScope pass(*mode, &tape, random_stream);
                     const std::array<Variable, n> again = body(ctx, inputs);
                     for (std::size_t i = 0; i < n; ++i) {
                       bool is_input = false;
                       for (const Variable& input : inputs) is_input = is_input || again[i].gradient == input.gradient;
                       detail::pass_gradient(ctx, results[i], again[i], is_input);
                     }
                     tape.backward(ctx);
                   });
  return results;
}

}  // namespace dragoman::ops
