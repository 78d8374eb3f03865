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

/// Identifies the structure of a step: everything that decides its kernels, shapes and addresses, such as row and token
/// counts, buckets and options. Steps with equal keys differ only in the contents of device memory.
///
///     const std::int64_t rows = 4;
///     const std::int64_t tokens = 32;
///     const StepKey key("my search: step", {rows, tokens});
struct StepKey {
  static constexpr std::size_t kMaxNumbers = 14;

  /// `name` is a literal that identifies the code of the step.
  constexpr StepKey(std::string_view name_in) : name(name_in) {}
  template <std::size_t N>
  requires(N <= kMaxNumbers) constexpr StepKey(std::string_view name_in, const std::int64_t (&numbers_in)[N])
      : name(name_in) {
    std::copy_n(numbers_in, N, numbers.begin());
  }
  /// The key of a step that must not be recorded.
  static constexpr StepKey never() { return {std::string_view()}; }
  auto operator<=>(const StepKey&) const = default;

  std::string_view name;
  std::array<std::int64_t, kMaxNumbers> numbers{};
};

/// Returns a number that is unique in this process. An object whose device memory is passed to kernels takes a new one
/// whenever the memory moves, and puts it into the keys of steps. Thread-safe.
std::int64_t next_generation() noexcept;

/// A key and the parts of the signature that the context adds.
struct StepSignature {
  StepKey key;
  /// The address and size of each upload.
  std::vector<std::pair<const void*, std::size_t>> uploads;
  std::uint64_t arena_generation = 0;
  ExtensionStates extensions{};
  auto operator<=>(const StepSignature&) const = default;
};

/// Records the kernel calls of steps and replays them, for example as a captured CUDA graph. Each recorder belongs to
/// one context. The backend creates it and inserts it between the context and its kernels.
///
/// A recorder may keep the calls of a body instead of running them. If that fails, none of them has run, and the body
/// runs again, this time unrecorded.
class StepRecorder {
 public:
  virtual ~StepRecorder();
  /// Replays the step that was recorded under this signature. Returns the value that was passed to end() for it;
  /// nullptr if no such step was recorded.
  virtual const std::any* replay(const StepSignature& signature) = 0;
  /// The body of a step begins. Its calls may be recorded until end() or abandon().
  virtual void begin(const StepSignature& signature) = 0;
  /// The body has ended. Returns false if its calls were not run and cannot be: the body is then run again, followed by
  /// end() or abandon().
  virtual bool end(std::any output) = 0;
  /// The body has thrown an exception with the message `reason`. Returns true if its calls were not run: the body is
  /// then run again, followed by end() or abandon().
  virtual bool abandon(const char* reason) noexcept = 0;
};

}  // namespace dragoman::tensor
