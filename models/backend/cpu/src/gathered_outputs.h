#pragma once

#include "kernels.h"
#include "output_copier.h"
#include "packed_weight.h"

#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/ops/project_listed_top_k.h>

namespace dragoman::backend::cpu {

/// Columns in panels of one width, packed as those of the weight are.
class GatheredPanels final : public ops::GatheredOutputs {
 public:
  /// nullptr: outputs would not keep their bits.
  static std::unique_ptr<GatheredPanels> make(tensor::DeviceMemory& memory, const PackedPanels& weight,
                                              std::int64_t columns);

  std::int64_t columns() const override { return static_cast<std::int64_t>(panels_.size()) * width_; }
  std::int64_t panel() const override { return width_; }
  std::span<const Panel> panels() const noexcept { return panels_; }
  /// One for each column.
  const float* bias() const noexcept { return static_cast<const float*>(bias_.data()); }

  /// `bias` is that of all outputs, or empty.
  void gather(const PackedPanels& weight, const tensor::Tensor& bias, std::span<const ops::GatheredColumn> columns);

 private:
  GatheredPanels(tensor::DeviceMemory& memory, const PackedPanels& weight, std::int64_t width, std::int64_t count);

  std::int64_t width_;
  tensor::Buffer storage_;
  tensor::Buffer bias_;
  std::vector<Panel> panels_;
  OutputCopier copier_;
  std::optional<OutputCopier> last_copier_;  ///< of the weight's last panel, if that is narrower
};

/// What the kernel of ops::kMakeGatheredOutputs made; Error{kInvalidArgument} if another backend did.
template <class Outputs>
auto& gathered_of(Outputs& outputs) {
  using Panels = std::conditional_t<std::is_const_v<Outputs>, const GatheredPanels, GatheredPanels>;
  auto* panels = dynamic_cast<Panels*>(&outputs);
  core::require(panels != nullptr, core::ErrorCode::kInvalidArgument,
                "the gathered outputs were made by another backend; make them on the device that multiplies with them");
  return *panels;
}

/// That of ops::kMakeGatheredOutputs.
std::unique_ptr<ops::GatheredOutputs> kernel(Context& context, const PackedWeight& weight, std::int64_t columns);

}  // namespace dragoman::backend::cpu
