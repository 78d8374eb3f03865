#include "shortlist_outputs.h"

#include <algorithm>

namespace dragoman::backend::cpu {
namespace {

/// Returns the columns of a panel; small vocabularies have narrower panels. A product of 512 outputs takes some ten
/// microseconds for every dozen rows, and calling it takes one.
std::int64_t gathered_width(std::int64_t vocabulary) {
  constexpr std::int64_t kUnit = 64;
  constexpr std::int64_t kWidest = 512;
  constexpr std::int64_t kParts = 16;
  const std::int64_t part = (vocabulary / kParts + kUnit - 1) / kUnit * kUnit;
  return std::clamp(part, kUnit, kWidest);
}

std::size_t aligned_bytes(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t bytes_of_panel(const PackedPanels& weight, std::int64_t width) {
  const GemmElements elements = weight.panels().front().matrix.elements();
  return aligned_bytes(PackedMatrix::bytes(elements, width, weight.cols()));
}

bool keeps_bits(const PackedPanels& weight, std::int64_t width) {
  const auto keeps = [&](const Panel& panel) {
    return copies_keep_bits(panel.matrix.elements(), panel.matrix.inputs(), panel.matrix.outputs(), width);
  };
  return keeps(weight.panels().front()) && keeps(weight.panels().back());
}

OutputCopier copier_from(const Panel& panel, std::int64_t width) {
  return {panel.matrix.elements(), panel.matrix.inputs(), panel.matrix.outputs(), width};
}

}  // namespace

std::unique_ptr<ShortlistPanels> ShortlistPanels::make(tensor::DeviceMemory& memory, const PackedPanels& weight,
                                                       std::int64_t columns) {
  const std::int64_t width = gathered_width(weight.rows());
  if (!keeps_bits(weight, width)) return nullptr;
  const std::int64_t count = std::max<std::int64_t>(1, (columns + width - 1) / width);
  return std::unique_ptr<ShortlistPanels>(new ShortlistPanels(memory, weight, width, count));
}

ShortlistPanels::ShortlistPanels(tensor::DeviceMemory& memory, const PackedPanels& weight, std::int64_t width,
                                 std::int64_t count)
    : width_(width),
      storage_(memory, static_cast<std::size_t>(count) * bytes_of_panel(weight, width)),
      bias_(memory, static_cast<std::size_t>(count * width) * sizeof(float)),
      copier_(copier_from(weight.panels().front(), width)) {
  const Panel& last = weight.panels().back();
  if (last.matrix.outputs() != weight.panels().front().matrix.outputs()) last_copier_ = copier_from(last, width);
  const bool numbers = last.matrix.elements() == GemmElements::kI8;
  auto* storage = static_cast<std::byte*>(storage_.data());
  for (std::int64_t p = 0; p < count; ++p) {
    Panel& panel =
        panels_.emplace_back(Panel{weight.type(), PackedMatrix(last.matrix.elements(), width, weight.cols(), storage)});
    if (numbers) {
      panel.scales.resize(static_cast<std::size_t>(width));
      panel.zero_sums.resize(static_cast<std::size_t>(width));
    }
    storage += bytes_of_panel(weight, width);
  }
  std::fill_n(static_cast<float*>(bias_.data()), count * width, 0.0F);
}

void ShortlistPanels::gather(const PackedPanels& weight, const tensor::Tensor& bias,
                             std::span<const ops::ShortlistSource> columns) {
  const std::int64_t panel_outputs = weight.panels().front().matrix.outputs();
  for (const auto& [token, column] : columns) {
    const Panel& from = weight.panels()[static_cast<std::size_t>(token / panel_outputs)];
    Panel& to = panels_[static_cast<std::size_t>(column / width_)];
    const std::int64_t n = token % panel_outputs;
    const std::int64_t m = column % width_;
    const bool narrow = from.matrix.outputs() != panel_outputs;
    (narrow ? *last_copier_ : copier_).copy(from.matrix, n, to.matrix, m);
    if (!to.scales.empty()) {
      to.scales[static_cast<std::size_t>(m)] = from.scales[static_cast<std::size_t>(n)];
      to.zero_sums[static_cast<std::size_t>(m)] = from.zero_sums[static_cast<std::size_t>(n)];
    }
    if (!bias.empty()) static_cast<float*>(bias_.data())[column] = bias.as<float>()[token];
  }
}

std::unique_ptr<ops::ShortlistOutputs> kernel(Context& context, const PackedWeight& weight, std::int64_t columns) {
  return ShortlistPanels::make(context.memory(), panels_of(weight), columns);
}

template <>
void kernel(Context&, const ops::GatherOutputsArguments& arguments) {
  shortlist_of(*arguments.outputs).gather(panels_of(*arguments.weight), arguments.bias, arguments.columns.span());
}

}  // namespace dragoman::backend::cpu
