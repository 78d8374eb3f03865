#pragma once

#include "gemm/gemm.h"
#include "hidden_backend.h"
#include "launch.h"
#include "steps/graph_recorder.h"
#include "watch.h"

#include <dragoman/backend_cuda/install.h>
#include <dragoman/backend_cuda/memory_use.h>
#include <dragoman/tensor/kernel_launch.h>

namespace dragoman::testing {

/// Memory as on a GPU: with a limit, and an error for waiting while launches are captured. Copies go through the
/// calling thread's stream. Each byte is watched (watch.h).
class EmulatedMemory final : public HiddenMemory, public tensor::LaunchQueue {
 public:
  explicit EmulatedMemory(int device)
      : device_(device),
        watch_(range()),
        gate_(
            device, [this] { open_for_work(); }, [this] { close(); }) {}
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  void handed_out(void* data, std::size_t bytes) noexcept override;
  void copy_in(void* to, const void* from, std::size_t bytes) override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void copy_out(void* to, const void* from, std::size_t bytes) override;
  std::unique_ptr<tensor::PendingRead> begin_read(const void* from, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void clear(void* data, std::size_t bytes) override;
  void queue_copy(void* to, const void* from, std::size_t bytes) override;
  void queue_clear(void* data, std::size_t bytes) override;
  Launch begin_launch() override;
  void end_launch(const Launch&, const char*) noexcept override {}
  backend::cuda::MemoryUse& use() noexcept { return use_; }

  const backend::cuda::MemoryUse& use() const noexcept { return use_; }
  emulation::Watch& watch() noexcept { return watch_; }

  /// Parts of the functions above, for work in a stream: they do not wait, and check that the memory is allocated.
  void write_now(void* to, const void* from, std::size_t bytes);
  void read_now(void* to, const void* from, std::size_t bytes);
  void release_now(void* data, std::size_t bytes) noexcept;

 private:
  class Read;
  void open_for_work();

  int device_;
  backend::cuda::MemoryUse use_;
  emulation::Watch watch_;
  emulation::MemoryGate gate_;
};

/// The CUDA backend on a machine without a GPU. Its own kernels run on emulated blocks, in memory that the host cannot
/// read and that is accessible only while a kernel runs. With kReplay, steps are stored as graphs of launches, and
/// products go through a library whose algorithm is this backend's kernel.
class EmulatedCuda final : public HiddenBackend {
 public:
  explicit EmulatedCuda(std::string_view name = "cuda", Steps steps = Steps::kRun, int devices = 1);
  ~EmulatedCuda() override;

  /// Work on one of several devices cannot access the memory of the others.
  int device_count() const override { return static_cast<int>(memories_.size()); }
  EmulatedMemory& memory(int number) const override { return *memories_.at(static_cast<std::size_t>(number)); }
  tensor::ComputeType inference_type(tensor::ComputeChoice choice) const override {
    return backend::cuda::inference_type(choice);
  }
  tensor::ComputeType training_type(tensor::ComputeChoice choice) const override {
    return backend::cuda::training_type(choice);
  }
  std::string describe() const override { return "the kernels for CUDA, emulated"; }
  void configure(const tensor::DeviceOptions& options) override;
  std::unique_ptr<tensor::StepRecorder> make_recorder(tensor::Context& context) const override;

  /// Returns the counts of all contexts.
  backend::cuda::GraphCounts& graphs() const noexcept { return graphs_; }

 private:
  bool replays_;
  std::vector<std::unique_ptr<EmulatedMemory>> memories_;
  mutable backend::cuda::GraphCounts graphs_;
  std::vector<std::unique_ptr<backend::cuda::LibraryGemm>> products_;
};

}  // namespace dragoman::testing
