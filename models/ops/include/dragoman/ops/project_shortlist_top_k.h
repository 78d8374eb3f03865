#pragma once

#include <memory>

#include <dragoman/ops/project_top_k.h>

namespace dragoman::ops {

// If every row of a projection to a vocabulary chooses from a shortlist (TopKOptions::shortlist), the projection needs
// a fraction of the outputs. The outputs that any row may choose are gathered from the packed weight. They are in any
// order, and other outputs may lie between them. They stay gathered from step to step while sentences come and go.

/// Storage for outputs of one packed weight and the values that belong to them, in the opaque form that a backend
/// multiplies with. The content of columns changes between steps; a recorded step reads the content at the time of its
/// replay.
class ShortlistOutputs {
 public:
  virtual ~ShortlistOutputs() = default;
  virtual std::int64_t columns() const = 0;  ///< a multiple of panel()
  virtual std::int64_t panel() const = 0;    ///< columns that are multiplied together
};

/// Allocates at least `columns` columns, filled with zeros. Returns nullptr if this backend cannot promise that a
/// gathered output has the bits of the output in its weight.
inline constexpr KernelKey<std::unique_ptr<ShortlistOutputs>(Context&, const PackedWeight&, std::int64_t columns)>
    kMakeShortlistOutputs{"make_shortlist_outputs"};

/// Copies outputs of `weight`, and of `bias` unless that is empty, to columns of `outputs`, which was made for them.
struct GatherOutputsArguments {
  const PackedWeight* weight = nullptr;
  Tensor bias;
  ShortlistOutputs* outputs = nullptr;
  DeviceArray<ShortlistSource> columns;
};
inline constexpr KernelKey<void(Context&, const GatherOutputsArguments&)> kGatherOutputs{"gather_outputs"};

/// Gives the result of project_top_k for `top_k`, to the bit. Every row has a list. `shortlist_columns` runs parallel
/// to the lists: the range of row r selects its columns there, sorted by column. Only the first `columns` gathered
/// columns are read; this number is a multiple of their panel().
struct ProjectShortlistTopKArguments {
  ProjectTopKArguments top_k;
  const ShortlistOutputs* outputs = nullptr;
  std::int64_t columns = 0;
  DeviceArray<ShortlistColumn> shortlist_columns;
};
inline constexpr KernelKey<void(Context&, const ProjectShortlistTopKArguments&)> kProjectShortlistTopK{
    "project_shortlist_top_k"};

/// The gathered outputs of such a projection, and the columns that each row may choose.
struct Listing {
  const ShortlistOutputs* outputs = nullptr;
  std::int64_t columns = 0;
  DeviceArray<ShortlistColumn> shortlist_columns;
};
/// Makes `shortlist_columns` readable for kernels. It is part of the preparation of a step.
DeviceArray<ShortlistColumn> upload(Context& context, std::span<const ShortlistColumn> shortlist_columns);

/// project_top_k() by gathered outputs. The projection's weight is packed.
TopK project_shortlist_top_k(Context& context, const Tensor& hidden, const Projection& projection,
                             const UploadedTopKOptions& options, const Listing& listing, const TopK& into = {});

}  // namespace dragoman::ops
