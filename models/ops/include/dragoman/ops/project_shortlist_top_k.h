#pragma once

#include <memory>

#include <dragoman/ops/project_top_k.h>

namespace dragoman::ops {

// A projection to the vocabulary in which every row has a shortlist (TopKOptions::shortlist). Such a projection needs
// only a fraction of the outputs. The outputs in any row's shortlist are gathered from the packed weight, in any order
// and possibly with others between them. They stay gathered from step to step while sentences come and go.

/// Storage for gathered outputs of one packed weight and their biases, in a backend's opaque layout. The contents of
/// columns change between steps. A recorded step reads the contents at the time of its replay.
class ShortlistOutputs {
 public:
  virtual ~ShortlistOutputs() = default;
  virtual std::int64_t columns() const = 0;  ///< a multiple of panel()
  virtual std::int64_t panel() const = 0;    ///< number of columns that are multiplied together
};

/// Allocates at least `columns` columns filled with zeros. Returns nullptr if the backend cannot guarantee that a
/// gathered output has the same bits as the output of the full weight.
inline constexpr KernelKey<std::unique_ptr<ShortlistOutputs>(Context&, const PackedWeight&, std::int64_t columns)>
    kMakeShortlistOutputs{"make_shortlist_outputs"};

/// Copies outputs of `weight`, and of `bias` unless it is empty, to columns of `outputs`. `outputs` must have been
/// allocated for this weight.
struct GatherOutputsArguments {
  const PackedWeight* weight = nullptr;
  Tensor bias;
  ShortlistOutputs* outputs = nullptr;
  DeviceArray<ShortlistSource> columns;
};
inline constexpr KernelKey<void(Context&, const GatherOutputsArguments&)> kGatherOutputs{"gather_outputs"};

/// Computes the result of project_top_k for `top_k`, bit for bit. Every row has a shortlist. `shortlist_columns` is
/// parallel to the shortlists: the range of row r selects its columns, sorted by column. Only the first `columns`
/// gathered columns are read; `columns` is a multiple of panel().
struct ProjectShortlistTopKArguments {
  ProjectTopKArguments top_k;
  const ShortlistOutputs* outputs = nullptr;
  std::int64_t columns = 0;
  DeviceArray<ShortlistColumn> shortlist_columns;
};
inline constexpr KernelKey<void(Context&, const ProjectShortlistTopKArguments&)> kProjectShortlistTopK{
    "project_shortlist_top_k"};

/// The gathered outputs of a projection, and the columns that each row may choose.
struct Listing {
  const ShortlistOutputs* outputs = nullptr;
  std::int64_t columns = 0;
  DeviceArray<ShortlistColumn> shortlist_columns;
};
/// Uploads `shortlist_columns` for kernels. It is part of the preparation of a step.
DeviceArray<ShortlistColumn> upload(Context& context, std::span<const ShortlistColumn> shortlist_columns);

/// project_top_k() over gathered outputs. The projection's weight is packed.
TopK project_shortlist_top_k(Context& context, const Tensor& hidden, const Projection& projection,
                             const UploadedTopKOptions& options, const Listing& listing, const TopK& into = {});

}  // namespace dragoman::ops
