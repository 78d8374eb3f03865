#pragma once

#include "gemm_library.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <dragoman/tensor/arena.h>

namespace dragoman::backend::cuda {

std::size_t size_of(GemmType type);

/// Returns the shape with its matrices stored without gaps, except for the padding of rows that the alignment requires.
GemmShape packed(GemmShape shape);

/// The number of bytes that hold an aligned workspace of `bytes` at any address, and the workspace in them.
std::size_t workspace_room(std::size_t bytes);
void* workspace_in(void* room);

/// Runs algorithms on matrices of random numbers, which are large enough for the shape `largest`.
class GemmProbe {
 public:
  GemmProbe(const GemmLibrary& library, tensor::DeviceMemory& memory, const GemmShape& largest);

  /// The bytes of a result, or of its two ends.
  struct Result {
    std::vector<std::byte> first;
    std::vector<std::byte> last;
    std::size_t bytes = 0;

    /// Returns true if these are the first rows of `whole`, or all of them.
    bool agrees(const Result& whole) const;
  };
  /// Returns the result of an algorithm, or nothing if the algorithm cannot compute the shape.
  std::optional<Result> result(const GemmShape& shape, const GemmAlgorithm& algorithm);
  /// Returns the seconds of a run.
  double time(const GemmShape& shape, const GemmAlgorithm& algorithm);

 private:
  struct Workspace {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  GemmOperands operands() const;
  std::optional<Workspace> make_workspace(const GemmShape& shape, const GemmAlgorithm& algorithm);
  void fill(const tensor::Buffer& buffer, GemmType type) const;

  const GemmLibrary& library_;
  tensor::DeviceMemory& memory_;
  tensor::Buffer a_, b_, c_, kept_, bias_, workspace_;
};

/// Returns true if the algorithm's epilogue computes the shape's activation function as the ops specify it. NVIDIA's
/// manual specifies neither whether a NaN passes a ReLU nor which formula its GELU has, so a small product with known
/// results is run. An algorithm that cannot compute the small product is not trusted. Waits for the device.
bool computes_activation(const GemmLibrary& library, tensor::DeviceMemory& memory, GemmShape shape,
                         const GemmAlgorithm& algorithm);

}  // namespace dragoman::backend::cuda
