#include "emulated_backend.h"

#include "elements.h"
#include "use_device.h"

#include <utility>

#include <dragoman/core/error.h>

// A launch is done when it returns.
void dragoman::backend::cuda::device::use(int number) {
  dragoman::testing::emulation::use_device(number);
}
void dragoman::backend::cuda::device::wait() {
  dragoman::testing::emulation::require_no_capture("waiting");
}

namespace dragoman::testing {
namespace {

using backend::cuda::GemmAlgorithm;
using backend::cuda::GemmOperands;
using backend::cuda::GemmShape;
using backend::cuda::GemmType;

const tensor::KernelTable& cuda_kernels() {
  static const tensor::KernelTable table = [] {
    tensor::KernelTable cuda(tensor::Device::of("cuda"));
    backend::cuda::install_kernels(cuda);
    return cuda;
  }();
  return table;
}

class KeptGraph final : public backend::cuda::LaunchGraph {
 public:
  KeptGraph(HiddenMemory& memory, std::vector<emulation::KeptLaunch> launches)
      : memory_(memory), launches_(std::move(launches)) {}
  void launch() override {
    memory_.allow_replay();
    for (const emulation::KeptLaunch& launch : launches_) launch.run();
  }

 private:
  HiddenMemory& memory_;
  std::vector<emulation::KeptLaunch> launches_;
};

class EmulatedCapture final : public backend::cuda::LaunchCapture {
 public:
  explicit EmulatedCapture(HiddenMemory& memory) : memory_(memory) {}
  void begin() override { emulation::begin_capture(); }
  std::unique_ptr<backend::cuda::LaunchGraph> end() override {
    return std::make_unique<KeptGraph>(memory_, emulation::end_capture());
  }
  void abandon() noexcept override { emulation::end_capture(); }

 private:
  HiddenMemory& memory_;
};

/// Rows of words out of numbers of 16 bits that lie either way.
struct GatherWords {
  const std::uint16_t* from;
  std::int64_t stride;
  bool by_rows;  ///< what is summed over
  std::int64_t inner;
  backend::cuda::device::WordMatrix to;
  void operator()(std::int64_t row, std::int64_t word) const {
    backend::cuda::device::at(to, row, word) = number(row, 2 * word) | number(row, 2 * word + 1) << 16U;
  }
  std::uint32_t number(std::int64_t row, std::int64_t k) const {
    return k >= inner ? 0 : from[by_rows ? k * stride + row : row * stride + k];
  }
};

/// Products of floats and of halves by the kernels, as a library that has nothing else.
class KernelLibrary final : public backend::cuda::GemmLibrary {
 public:
  std::string identity() const override { return "kernels of ours"; }
  std::vector<GemmAlgorithm> candidates(const GemmShape& shape, bool) const override {
    if (shape.type == GemmType::kI8) return {};
    return {{}};
  }
  std::optional<std::size_t> workspace(const GemmShape& shape, const GemmAlgorithm&) const override {
    return static_cast<std::size_t>((shape.rows + shape.cols) * backend::cuda::device::words_of(shape.inner, 2)) *
           sizeof(std::uint32_t);
  }
  void run(const GemmShape& shape, const GemmOperands& operands, const GemmAlgorithm&, void* workspace,
           std::size_t) const override {
    core::require(reinterpret_cast<std::uintptr_t>(workspace) % backend::cuda::kWorkspaceAlignment == 0,
                  core::ErrorCode::kInternal, "a workspace at {}, which cuBLASLt would refuse", workspace);
    namespace device = backend::cuda::device;
    const device::Matrix c{static_cast<float*>(operands.c), shape.rows, shape.cols, shape.c_stride};
    device::Epilogue epilogue{.accumulate = shape.accumulate};
    if (shape.bias) epilogue.bias = {const_cast<float*>(operands.bias), 1, shape.cols, shape.cols};
    const auto turned = [](const void* data, bool turn, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
      return device::Matrix{static_cast<float*>(const_cast<void*>(data)), turn ? cols : rows, turn ? rows : cols,
                            stride};
    };
    auto* free = static_cast<std::uint32_t*>(workspace);
    const auto words = [&](const void* data, bool by_rows, std::int64_t rows, std::int64_t stride) {
      const std::int64_t of_row = device::words_of(shape.inner, 2);
      const device::WordMatrix gathered{std::exchange(free, free + rows * of_row), rows, of_row, of_row};
      device::for_each_element(
          rows, of_row, GatherWords{static_cast<const std::uint16_t*>(data), stride, by_rows, shape.inner, gathered});
      return gathered;
    };
    if (shape.type == GemmType::kF32) {
      device::product({.a = turned(operands.a, shape.transpose_a, shape.rows, shape.inner, shape.a_stride),
                       .transpose_a = shape.transpose_a,
                       .b = turned(operands.b, shape.transpose_b, shape.inner, shape.cols, shape.b_stride),
                       .transpose_b = shape.transpose_b,
                       .c = c,
                       .epilogue = epilogue});
    } else {
      const device::WordMatrix a = words(operands.a, shape.transpose_a, shape.rows, shape.a_stride);
      const device::WordMatrix b = words(operands.b, !shape.transpose_b, shape.cols, shape.b_stride);
      device::product_of_halves(shape.type == GemmType::kF16 ? device::Half::kF16 : device::Half::kBf16, a, b, c,
                                epilogue);
    }
  }
  double time(const GemmShape&, const GemmOperands&, const GemmAlgorithm&, void*, std::size_t) const override {
    emulation::require_no_capture("timing");
    return 1;
  }
  bool recording() const override { return emulation::capturing(); }
};

}  // namespace

void* EmulatedMemory::allocate(std::size_t bytes) {
  emulation::require_no_capture("allocating");
  use_.take(bytes, device_);
  try {
    return HiddenMemory::allocate(bytes);
  } catch (...) {
    use_.give_back(bytes);
    throw;
  }
}
void EmulatedMemory::deallocate(void* data, std::size_t bytes) noexcept {
  HiddenMemory::deallocate(data, bytes);
  use_.give_back(bytes);
}
void EmulatedMemory::copy_in(void* to, const void* from, std::size_t bytes) {
  emulation::require_no_capture("copying to the device");
  HiddenMemory::copy_in(to, from, bytes);
}
void EmulatedMemory::upload(void* to, const void* from, std::size_t bytes) {
  emulation::require_no_capture("copying to the device");
  HiddenMemory::upload(to, from, bytes);
}
std::unique_ptr<tensor::PendingRead> EmulatedMemory::begin_read(const void* from, std::size_t bytes) {
  emulation::require_no_capture("copying from the device");
  return HiddenMemory::begin_read(from, bytes);
}
void EmulatedMemory::copy_out(void* to, const void* from, std::size_t bytes) {
  emulation::require_no_capture("copying from the device");
  HiddenMemory::copy_out(to, from, bytes);
}
void EmulatedMemory::copy(void* to, const void* from, std::size_t bytes) {
  emulation::require_no_capture("copying");
  HiddenMemory::copy(to, from, bytes);
}
void EmulatedMemory::clear(void* data, std::size_t bytes) {
  emulation::require_no_capture("clearing");
  HiddenMemory::clear(data, bytes);
}
/// There is one stream for each thread, and a launch is done when it returns.
tensor::LaunchQueue::Launch EmulatedMemory::begin_launch() {
  emulation::use_device(device_);
  return {};
}

EmulatedCuda::EmulatedCuda(std::string_view name, Steps steps, int devices)
    : HiddenBackend(cuda_kernels(), name, steps, Opening::kWithin), replays_(steps == Steps::kReplay) {
  for (int number = 0; number < devices; ++number) memories_.push_back(std::make_unique<EmulatedMemory>(number));
  for (int number = 0; replays_ && number < devices; ++number) {
    // Few rows: more take long to emulate.
    products_.push_back(std::make_unique<backend::cuda::LibraryGemm>(
        std::make_unique<KernelLibrary>(), memory(number), std::filesystem::path(), std::vector<std::int64_t>{4, 16}));
    backend::cuda::set_gemm(tensor::Device::of(name, number), products_.back().get());
  }
}

EmulatedCuda::~EmulatedCuda() {
  for (int number = 0; number < device_count(); ++number)
    backend::cuda::set_gemm(tensor::Device::of(name(), number), nullptr);
}

void EmulatedCuda::configure(const tensor::DeviceOptions& options) {
  for (int number = 0; number < device_count(); ++number) {
    if (options.memory > 0) memory(number).use().bound(options.memory);
    if (options.batch_invariant) backend::cuda::set_gemm(tensor::Device::of(name(), number), nullptr);
  }
}

std::unique_ptr<tensor::StepRecorder> EmulatedCuda::make_recorder(tensor::Context& context) const {
  if (!replays_) return nullptr;
  auto& memory = static_cast<HiddenMemory&>(context.memory());
  return std::make_unique<backend::cuda::GraphRecorder>(std::make_unique<EmulatedCapture>(memory), &graphs_);
}

bool emulates_cuda() {
  return true;
}
std::shared_ptr<tensor::Backend> make_cuda_backend() {
  return std::make_shared<EmulatedCuda>();
}
std::shared_ptr<tensor::Backend> make_capturing_cuda_backend() {
  return std::make_shared<EmulatedCuda>("captured", HiddenBackend::Steps::kReplay);
}
std::shared_ptr<tensor::Backend> make_two_cuda_devices() {
  return std::make_shared<EmulatedCuda>("cuda", HiddenBackend::Steps::kRun, 2);
}
emulation::Replays emulation::replays(const tensor::Backend& backend) {
  const backend::cuda::GraphCounts& counts = dynamic_cast<const EmulatedCuda&>(backend).graphs();
  return {.run = counts.run, .replayed = counts.replayed};
}
std::uint64_t emulation::bytes_taken(const tensor::Backend& backend, int device) {
  return dynamic_cast<const EmulatedCuda&>(backend).memory(device).use().taken();
}

}  // namespace dragoman::testing
