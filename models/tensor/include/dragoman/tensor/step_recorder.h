#pragma once

#include <algorithm>
#include <any>
#include <array>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include <dragoman/tensor/context_extension.h>

namespace dragoman::tensor {

/// Names everything that decides which kernels a step calls, and with which shapes and addresses: numbers of rows and
/// tokens, buckets, choices. Two steps of equal keys differ in nothing but the contents of device memory.
struct StepKey {
  static constexpr std::size_t kMaxNumbers = 14;

  /// `name` is a literal that says which piece of code the step is.
  constexpr StepKey(std::string_view name_in) : name(name_in) {}
  template <std::size_t N>
  requires(N <= kMaxNumbers) constexpr StepKey(std::string_view name_in, const std::int64_t (&numbers_in)[N])
      : name(name_in) {
    std::copy_n(numbers_in, N, numbers.begin());
  }
  /// Of a step that must not be recorded.
  static constexpr StepKey never() { return {std::string_view()}; }
  auto operator<=>(const StepKey&) const = default;

  std::string_view name;
  std::array<std::int64_t, kMaxNumbers> numbers{};
};

/// A number that this process has not had before. Whoever keeps device memory that kernels are given takes one whenever
/// the memory moves, for the keys of steps. Thread-safe.
std::int64_t next_generation() noexcept;

/// A key together with what the context adds to it.
struct StepSignature {
  StepKey key;
  /// Where what was uploaded lies, and how much room each piece has.
  std::vector<std::pair<const void*, std::size_t>> uploads;
  std::uint64_t arena_generation = 0;
  ExtensionStates extensions{};
  auto operator<=>(const StepSignature&) const = default;
};

/// Keeps the kernel calls of steps and makes them again, so that a device is told once what to do (a captured graph).
/// One belongs to a context; its backend makes it, and puts it between the context and its kernels.
class StepRecorder {
 public:
  virtual ~StepRecorder();
  /// Makes the calls of an earlier step of this signature again. Returns what end() was given for it, or nullptr if no
  /// such step was recorded.
  virtual const std::any* replay(const StepSignature& signature) = 0;
  /// The body of a step begins, and ends: with its output, or with an exception. What happens between may be recorded.
  virtual void begin(const StepSignature& signature) = 0;
  virtual void end(std::any output) = 0;
  virtual void abandon() noexcept = 0;
};

}  // namespace dragoman::tensor
