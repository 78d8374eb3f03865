#include "gemm_probe.h"

#include <algorithm>
#include <cstring>

namespace dragoman::backend::cuda {
namespace {

/// The number of bytes that are compared at either end of a result. Another order of sums shows in all parts of it.
constexpr std::size_t kComparedBytes = std::size_t{4} << 20;

std::size_t bytes_of(std::int64_t rows, std::int64_t stride, GemmType type) {
  return static_cast<std::size_t>(rows * stride) * size_of(type);
}

void write_number(std::uint8_t* place, GemmType type, std::uint64_t random) {
  if (type == GemmType::kI8) {
    *place = static_cast<std::uint8_t>(random >> 32U);
  } else if (type == GemmType::kF32) {
    const float value = static_cast<float>(static_cast<std::int32_t>(random >> 32U)) * 0x1p-31F;
    std::memcpy(place, &value, sizeof value);
  } else {
    // Sign, an exponent of four below 1, and the bits of the fraction: as bf16 or as fp16.
    const int fraction = type == GemmType::kBF16 ? 7 : 10;
    const std::uint64_t exponent = (type == GemmType::kBF16 ? 123 : 11) + (random >> 40U) % 4;
    const auto value =
        static_cast<std::uint16_t>((random >> 63U) << 15U | exponent << fraction | (random & ((1U << fraction) - 1)));
    std::memcpy(place, &value, sizeof value);
  }
}

}  // namespace

std::size_t size_of(GemmType type) {
  return type == GemmType::kF32 ? 4 : type == GemmType::kI8 ? 1 : 2;
}

GemmShape packed(GemmShape shape) {
  const auto unit = std::max<std::int64_t>(1, shape.alignment / static_cast<std::int64_t>(size_of(shape.type)));
  const auto whole = [](std::int64_t n, std::int64_t of) { return (n + of - 1) / of * of; };
  shape.a_stride = whole(shape.transpose_a ? shape.rows : shape.inner, unit);
  shape.b_stride = whole(shape.transpose_b ? shape.inner : shape.cols, unit);
  shape.c_stride = whole(shape.cols, 4);
  shape.input_stride = shape.keeps_input ? whole(shape.cols, kInputStrideUnit) : 0;
  return shape;
}

std::size_t workspace_room(std::size_t bytes) {
  return bytes + kWorkspaceAlignment - 1;
}
void* workspace_in(void* room) {
  const auto address = reinterpret_cast<std::uintptr_t>(room);
  return static_cast<char*>(room) + (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
}

GemmProbe::GemmProbe(const GemmLibrary& library, tensor::DeviceMemory& memory, const GemmShape& largest)
    : library_(library),
      memory_(memory),
      a_(memory, bytes_of(largest.transpose_a ? largest.inner : largest.rows, largest.a_stride, largest.type)),
      b_(memory, bytes_of(largest.transpose_b ? largest.cols : largest.inner, largest.b_stride, largest.type)),
      c_(memory, static_cast<std::size_t>(largest.rows * largest.c_stride) * 4),
      kept_(memory, static_cast<std::size_t>(largest.rows * largest.input_stride) * 4),
      bias_(memory, static_cast<std::size_t>(largest.cols) * 4) {
  fill(a_, largest.type);
  fill(b_, largest.type);
  fill(bias_, GemmType::kF32);
}

bool GemmProbe::Result::agrees(const Result& whole) const {
  const std::size_t common = std::min(first.size(), whole.first.size());
  return std::memcmp(first.data(), whole.first.data(), common) == 0 && (bytes != whole.bytes || last == whole.last);
}

std::optional<GemmProbe::Result> GemmProbe::result(const GemmShape& shape, const GemmAlgorithm& algorithm) {
  const std::optional<Workspace> workspace = make_workspace(shape, algorithm);
  if (!workspace) return std::nullopt;
  Result result{.first = {}, .last = {}, .bytes = static_cast<std::size_t>(shape.rows * shape.c_stride) * 4};
  memory_.clear(c_.data(), result.bytes);
  library_.run(shape, operands(), algorithm, workspace->data, workspace->bytes);
  result.first.resize(std::min(result.bytes, kComparedBytes));
  result.last.resize(std::min(result.bytes - result.first.size(), kComparedBytes));
  memory_.copy_out(result.first.data(), c_.data(), result.first.size());
  if (!result.last.empty())
    memory_.copy_out(result.last.data(), static_cast<char*>(c_.data()) + result.bytes - result.last.size(),
                     result.last.size());
  return result;
}

double GemmProbe::time(const GemmShape& shape, const GemmAlgorithm& algorithm) {
  const Workspace workspace = make_workspace(shape, algorithm).value_or(Workspace{});
  return library_.time(shape, operands(), algorithm, workspace.data, workspace.bytes);
}

GemmOperands GemmProbe::operands() const {
  return {a_.data(), b_.data(), c_.data(), static_cast<const float*>(bias_.data()), static_cast<float*>(kept_.data())};
}

std::optional<GemmProbe::Workspace> GemmProbe::make_workspace(const GemmShape& shape, const GemmAlgorithm& algorithm) {
  const std::optional<std::size_t> bytes = library_.workspace(shape, algorithm);
  if (!bytes) return std::nullopt;
  if (workspace_room(*bytes) > workspace_.size()) workspace_ = tensor::Buffer(memory_, workspace_room(*bytes));
  return Workspace{workspace_in(workspace_.data()), *bytes};
}

/// Numbers between -1 and 1 (of int8 all) with all of their bits, so that another order of a sum shows. They repeat
/// after a prime number of them, so rows differ.
void GemmProbe::fill(const tensor::Buffer& buffer, GemmType type) const {
  constexpr std::size_t kMaxNumbers = 1'000'003;
  std::vector<std::uint8_t> numbers(std::min(kMaxNumbers * size_of(type), buffer.size()));
  std::uint64_t state = 0x9E3779B97F4A7C15U;
  for (std::size_t i = 0; i < numbers.size(); i += size_of(type)) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    write_number(&numbers[i], type, state);
  }
  for (std::size_t done = 0; done < buffer.size(); done += numbers.size())
    memory_.copy_in(static_cast<char*>(buffer.data()) + done, numbers.data(),
                    std::min(numbers.size(), buffer.size() - done));
}

}  // namespace dragoman::backend::cuda
