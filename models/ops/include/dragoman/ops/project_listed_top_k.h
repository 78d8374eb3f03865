#pragma once

#include <memory>

#include <dragoman/ops/project_top_k.h>

namespace dragoman::ops {

// A projection to a vocabulary whose rows all choose from lists of their own (TopKOptions::allowed) needs a fraction of
// the outputs. Those that any row may choose are gathered from the packed weight, in any order and with others among
// them, and stay gathered from step to step while sentences come and go.

/// Room for outputs of one packed weight, with what belongs to each of them, in the form that a backend multiplies
/// with: opaque. What columns hold changes between steps; a recorded step sees what they hold when it is replayed.
class GatheredOutputs {
 public:
  virtual ~GatheredOutputs() = default;
  virtual std::int64_t columns() const = 0;  ///< a multiple of panel()
  virtual std::int64_t panel() const = 0;    ///< columns that are multiplied together
};

/// Room for at least so many columns (they hold zeros), or nullptr where this backend cannot promise that a gathered
/// output gives the bits that it has in its weight.
inline constexpr KernelKey<std::unique_ptr<GatheredOutputs>(Context&, const PackedWeight&, std::int64_t columns)>
    kMakeGatheredOutputs{"make_gathered_outputs"};

/// Copies outputs of `weight`, and of `bias` unless that is empty, to columns of `outputs`, which was made for them.
struct GatherOutputsArguments {
  const PackedWeight* weight = nullptr;
  Tensor bias;
  GatheredOutputs* outputs = nullptr;
  DeviceArray<GatheredColumn> columns;
};
inline constexpr KernelKey<void(Context&, const GatherOutputsArguments&)> kGatherOutputs{"gather_outputs"};

/// As project_top_k of the same arguments, to the bit. Every row has a list; `listed` runs parallel to the lists: what
/// row r may choose from is `listed` within its range, too, sorted by column. Nothing beyond the first `columns`
/// gathered ones, a multiple of their panel(), is looked at.
struct ProjectListedTopKArguments {
  ProjectTopKArguments top_k;
  const GatheredOutputs* outputs = nullptr;
  std::int64_t columns = 0;
  DeviceArray<ListedColumn> listed;
};
inline constexpr KernelKey<void(Context&, const ProjectListedTopKArguments&)> kProjectListedTopK{
    "project_listed_top_k"};

/// What such a projection has besides its options.
struct Listing {
  const GatheredOutputs* outputs = nullptr;
  std::int64_t columns = 0;
  DeviceArray<ListedColumn> listed;
};
/// Makes `listed` readable for kernels; what belongs to the preparation of a step.
DeviceArray<ListedColumn> upload(Context& context, std::span<const ListedColumn> listed);

/// project_top_k() by gathered outputs. The projection's weight is packed.
TopK project_listed_top_k(Context& context, const Tensor& hidden, const Projection& projection,
                          const UploadedTopKOptions& options, const Listing& listing, const TopK& into = {});

}  // namespace dragoman::ops
