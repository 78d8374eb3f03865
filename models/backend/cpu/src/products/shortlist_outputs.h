#pragma once

#include "kernels.h"
#include "packing/output_copier.h"
#include "packing/packed_weight.h"

#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/ops/project_shortlist_top_k.h>

namespace dragoman::backend::cpu {

/// Gathered columns in panels of equal width, in the packed form of the weight's panels.
class ShortlistPanels final : public ops::ShortlistOutputs {
 public:
  /// Returns nullptr if gathered outputs would not keep their bits.
  static std::unique_ptr<ShortlistPanels> make(tensor::DeviceMemory& memory, const PackedPanels& weight,
                                               std::int64_t columns);

  std::int64_t columns() const override { return static_cast<std::int64_t>(panels_.size()) * width_; }
  std::int64_t panel() const override { return width_; }
  std::span<const Panel> panels() const noexcept { return panels_; }
  /// One value for each column.
  const float* bias() const noexcept { return static_cast<const float*>(bias_.data()); }

  /// Copies columns. `bias` is the bias of all outputs, or empty.
  void gather(const PackedPanels& weight, const tensor::Tensor& bias, std::span<const ops::ShortlistSource> columns);

 private:
  ShortlistPanels(tensor::DeviceMemory& memory, const PackedPanels& weight, std::int64_t width, std::int64_t count);

  std::int64_t width_;
  tensor::Buffer storage_;
  tensor::Buffer bias_;
  std::vector<Panel> panels_;
  OutputCopier copier_;
  std::optional<OutputCopier> last_copier_;  ///< for the weight's last panel, if that is narrower
};

/// Casts outputs that the kernel of ops::kMakeShortlistOutputs created. Error{kInvalidArgument} if another backend
/// created them.
template <class Outputs>
auto& shortlist_of(Outputs& outputs) {
  using Panels = std::conditional_t<std::is_const_v<Outputs>, const ShortlistPanels, ShortlistPanels>;
  auto* panels = dynamic_cast<Panels*>(&outputs);
  core::require(panels != nullptr, core::ErrorCode::kInvalidArgument,
                "the gathered outputs were made by another backend; make them on the device that multiplies with them");
  return *panels;
}

/// The kernel of ops::kMakeShortlistOutputs.
std::unique_ptr<ops::ShortlistOutputs> kernel(Context& context, const PackedWeight& weight, std::int64_t columns);

}  // namespace dragoman::backend::cpu
