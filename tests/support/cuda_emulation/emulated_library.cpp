#include "emulated_library.h"

#include "gather_words.h"
#include "library_epilogue.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::testing {
namespace {

using backend::cuda::GemmActivation;
using backend::cuda::GemmAlgorithm;
using backend::cuda::GemmOperands;
using backend::cuda::GemmShape;
using backend::cuda::GemmType;

/// The workspaces of products that have not run yet, of all threads.
class WorkspacesInUse {
 public:
  struct Workspace {
    const char* begin;
    std::size_t bytes;
    std::thread::id thread;
    bool operator==(const Workspace&) const = default;
  };
  static WorkspacesInUse& of_program() {
    static WorkspacesInUse all;
    return all;
  }
  void enter(const Workspace& entering) {
    const std::lock_guard lock(mutex_);
    for (const Workspace& other : all_)
      if (other.thread != entering.thread && other.begin < entering.begin + entering.bytes &&
          entering.begin < other.begin + other.bytes)
        throw std::runtime_error(fmt::format("a workspace at {}, which a product of another thread has not left yet",
                                             static_cast<const void*>(entering.begin)));
    all_.push_back(entering);
  }
  void leave(const Workspace& leaving) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(all_, leaving);
    if (found != all_.end()) all_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::vector<Workspace> all_;
};

/// The time from the call of a product to the end of its work.
class WorkspaceUse {
 public:
  WorkspaceUse(EmulatedMemory& memory, void* data, std::size_t bytes)
      : memory_(memory), workspace_{static_cast<const char*>(data), bytes, std::this_thread::get_id()} {
    // A step that is being captured uses it whenever it is replayed.
    if (!emulation::capturing()) WorkspacesInUse::of_program().enter(workspace_);
    try {
      emulation::put([memory = &memory_, workspace = workspace_, recorded = emulation::capturing()] {
        if (recorded) WorkspacesInUse::of_program().enter(workspace);
        memory->watch().require_allocated(workspace.begin, workspace.bytes, "a product's workspace has");
        memory->watch().allocated(workspace.begin, workspace.bytes);
      });
    } catch (...) {
      WorkspacesInUse::of_program().leave(workspace_);
      throw;
    }
  }
  WorkspaceUse(const WorkspaceUse&) = delete;
  WorkspaceUse& operator=(const WorkspaceUse&) = delete;
  ~WorkspaceUse() {
    emulation::put([memory = &memory_, workspace = workspace_] {
      memory->watch().allocated(workspace.begin, workspace.bytes);
      WorkspacesInUse::of_program().leave(workspace);
    });
  }

 private:
  EmulatedMemory& memory_;
  WorkspacesInUse::Workspace workspace_;
};

class KernelLibrary final : public backend::cuda::GemmLibrary {
 public:
  explicit KernelLibrary(EmulatedMemory& memory) : memory_(memory) {}
  std::string identity() const override { return "kernels of ours"; }
  std::vector<GemmAlgorithm> candidates(const GemmShape& shape, bool) const override {
    if (shape.type == GemmType::kI8) return {};
    return {{}};
  }
  std::optional<std::size_t> workspace(const GemmShape& shape, const GemmAlgorithm&) const override {
    return static_cast<std::size_t>((shape.rows + shape.cols) * backend::cuda::device::words_of(shape.inner, 2)) *
           sizeof(std::uint32_t);
  }
  void run(const GemmShape& shape, const GemmOperands& operands, const GemmAlgorithm& algorithm, void* workspace,
           std::size_t workspace_bytes) const override {
    const std::size_t needed = this->workspace(shape, algorithm).value_or(0);
    core::require(workspace_bytes >= needed, core::ErrorCode::kInternal,
                  "a workspace of {} bytes, though the product takes {}", workspace_bytes, needed);
    core::require(reinterpret_cast<std::uintptr_t>(workspace) % backend::cuda::kWorkspaceAlignment == 0,
                  core::ErrorCode::kInternal, "a workspace at {}, which cuBLASLt would refuse", workspace);
    require_epilogue_operands(shape, operands);
    const WorkspaceUse use(memory_, workspace, needed);
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
      gather_words({static_cast<const std::uint16_t*>(data), stride, by_rows, shape.inner, gathered});
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
    apply_library_epilogue(shape, operands);
  }
  double time(const GemmShape&, const GemmOperands&, const GemmAlgorithm&, void*, std::size_t) const override {
    emulation::require_no_capture("timing");
    return 1;
  }
  bool recording() const override { return emulation::capturing(); }

 private:
  static void require_epilogue_operands(const GemmShape& shape, const GemmOperands& operands) {
    const auto is_aligned = [](const void* address) {
      return address != nullptr && reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
    };
    const auto refuse_unless = [](bool good, const char* what) {
      core::require(good, core::ErrorCode::kInternal, "{}, which cuBLASLt would refuse", what);
    };
    refuse_unless(!shape.bias || is_aligned(operands.bias), "a bias that is not aligned to 16 bytes");
    refuse_unless(shape.activation == GemmActivation::kNone || !shape.accumulate, "a sum of activated products");
    if (!shape.keeps_input) return;
    refuse_unless(shape.activation == GemmActivation::kGeluTanh, "an input that only GELU keeps");
    refuse_unless(is_aligned(operands.activation_input), "an activation input that is not aligned to 16 bytes");
    refuse_unless(shape.input_stride % 8 == 0 && shape.input_stride >= shape.cols,
                  "an activation input with a stride that is no multiple of 8");
  }

  EmulatedMemory& memory_;
};

}  // namespace

std::unique_ptr<backend::cuda::GemmLibrary> make_kernel_library(EmulatedMemory& memory) {
  return std::make_unique<KernelLibrary>(memory);
}

}  // namespace dragoman::testing
