#pragma once

#include "packed_matrix.h"

#include <dragoman/core/error.h>
#include <dragoman/ops/project_listed_top_k.h>

namespace dragoman::backend::cuda {

/// Rows of a packed weight, in the order of the columns. A sum goes through its inputs in an order of their own, so an
/// output has the bits that it has in its weight.
class GatheredOutputs final : public ops::GatheredOutputs {
 public:
  GatheredOutputs(tensor::DeviceMemory& memory, const PackedMatrix& weight, std::int64_t columns);

  std::int64_t columns() const override { return rows_.rows(); }
  std::int64_t panel() const override { return 1; }

  /// `bias` is that of all outputs, or has no data.
  void gather(const PackedMatrix& weight, const device::Matrix& bias,
              const ops::DeviceArray<ops::GatheredColumn>& columns);
  /// Of the first columns, as many as y has.
  void multiply(tensor::Context& context, const device::Matrix& x, const device::Matrix& y) const;

 private:
  PackedMatrix rows_;
  tensor::Buffer bias_;  ///< one for each column
};

/// Error{kInvalidArgument} if another backend made them.
const GatheredOutputs& gathered_of(const ops::GatheredOutputs& outputs);

/// The kernel of ops::kMakeGatheredOutputs.
std::unique_ptr<ops::GatheredOutputs> kernel(tensor::Context& context, const tensor::PackedWeight& weight,
                                             std::int64_t columns);

}  // namespace dragoman::backend::cuda
