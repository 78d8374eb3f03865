#pragma once

#include "gemm/packed_matrix.h"

#include <dragoman/core/error.h>
#include <dragoman/ops/project_shortlist_top_k.h>

namespace dragoman::backend::cuda {

/// Gathered rows of a packed weight, in the order of the columns. The order in which a sum goes through its inputs does
/// not depend on the row's place, so an output has the bits that it has in its weight.
class ShortlistOutputs final : public ops::ShortlistOutputs {
 public:
  ShortlistOutputs(tensor::DeviceMemory& memory, const PackedMatrix& weight, std::int64_t columns);

  std::int64_t columns() const override { return rows_.rows(); }
  std::int64_t panel() const override { return 1; }

  /// Copies rows. `bias` is the bias of all outputs, or has no data.
  void gather(const PackedMatrix& weight, const device::Matrix& bias,
              const ops::DeviceArray<ops::ShortlistSource>& columns);
  /// Multiplies with the first y.cols columns.
  void multiply(tensor::Context& context, const device::Matrix& x, const device::Matrix& y) const;

 private:
  PackedMatrix rows_;
  tensor::Buffer bias_;  ///< one for each column
};

/// Error{kInvalidArgument} if another backend made them.
const ShortlistOutputs& shortlist_of(const ops::ShortlistOutputs& outputs);

/// The kernel of ops::kMakeShortlistOutputs.
std::unique_ptr<ops::ShortlistOutputs> kernel(tensor::Context& context, const tensor::PackedWeight& weight,
                                              std::int64_t columns);

}  // namespace dragoman::backend::cuda
