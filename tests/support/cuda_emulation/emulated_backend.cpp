#include "emulated_backend.h"

#include "emulated_library.h"

#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::testing {
namespace {

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
  KeptGraph(HiddenMemory& memory, std::vector<emulation::Work> launches)
      : memory_(memory), launches_(std::move(launches)) {}
  void launch() override {
    emulation::put([this] { memory_.allow_replay(); });
    for (const emulation::Work& launch : launches_) emulation::put(launch);
  }
  std::uint64_t bytes() const override { return launches_.size(); }

 private:
  HiddenMemory& memory_;
  std::vector<emulation::Work> launches_;
};

class EmulatedCapture final : public backend::cuda::LaunchCapture {
 public:
  explicit EmulatedCapture(HiddenMemory& memory) : memory_(memory) {}
  void begin() override { emulation::begin_capture(); }
  std::unique_ptr<backend::cuda::LaunchGraph> end() override {
    return std::make_unique<KeptGraph>(memory_, emulation::end_capture());
  }
  void abandon() noexcept override { emulation::abandon_capture(); }

 private:
  HiddenMemory& memory_;
};

}  // namespace

/// With a lazy stream, the host may have freed memory that pending work still uses.
void EmulatedMemory::open_for_work() {
  open();
  if (emulation::streams_are_lazy()) allow_replay();
}
void* EmulatedMemory::allocate(std::size_t bytes) {
  emulation::require_no_capture("allocating");
  use_.take(bytes, device_);
  try {
    void* const data = HiddenMemory::allocate(bytes);
    watch_.allocated(data, bytes);
    return data;
  } catch (...) {
    use_.give_back(bytes);
    throw;
  }
}
/// As on a GPU, this waits only for the calling thread's stream. Work of other streams that still uses the memory finds
/// it freed.
void EmulatedMemory::deallocate(void* data, std::size_t bytes) noexcept {
  emulation::spoil_capture("giving memory back");
  emulation::wait_without_failing();
  release_now(data, bytes);
}
void EmulatedMemory::release_now(void* data, std::size_t bytes) noexcept {
  watch_.given_back(data, bytes);
  HiddenMemory::deallocate(data, bytes);
  use_.give_back(bytes);
}
/// In the order of the stream, because earlier work may still read it.
void EmulatedMemory::handed_out(void* data, std::size_t bytes) noexcept {
  if constexpr (emulation::kWatchesKernels) emulation::put([this, data, bytes] { watch_.allocated(data, bytes); });
}
void EmulatedMemory::copy_in(void* to, const void* from, std::size_t bytes) {
  count_wait();
  upload(to, from, bytes);
  emulation::wait_for_stream();
}
void EmulatedMemory::upload(void* to, const void* from, std::size_t bytes) {
  emulation::require_no_capture("copying to the device");
  const auto* const data = static_cast<const std::byte*>(from);
  emulation::put([this, to, staged = std::vector(data, data + bytes)] { write_now(to, staged.data(), staged.size()); });
}
void EmulatedMemory::write_now(void* to, const void* from, std::size_t bytes) {
  watch_.require_allocated(to, bytes, "a copy to the device writes");
  HiddenMemory::upload(to, from, bytes);
  watch_.written(to, bytes);
}
void EmulatedMemory::read_now(void* to, const void* from, std::size_t bytes) {
  watch_.require_written(from, bytes, "a copy to the host reads");
  copy_to_host(to, from, bytes);
}
/// A read that is complete when the stream has reached it.
class EmulatedMemory::Read final : public tensor::PendingRead {
 public:
  Read(EmulatedMemory& memory, const void* from, std::size_t bytes)
      : memory_(memory), read_number_(memory.count_read()), room_(std::make_shared<std::vector<std::byte>>(bytes)) {
    work_ = emulation::put([&memory, from, room = room_] { memory.read_now(room->data(), from, room->size()); });
  }
  std::span<const std::byte> wait() override {
    memory_.count_overtaken(read_number_);
    emulation::wait_for(work_);
    return *room_;
  }

 private:
  EmulatedMemory& memory_;
  std::size_t read_number_;
  std::shared_ptr<std::vector<std::byte>> room_;
  std::uint64_t work_ = 0;
};
std::unique_ptr<tensor::PendingRead> EmulatedMemory::begin_read(const void* from, std::size_t bytes) {
  emulation::require_no_capture("copying from the device");
  return std::make_unique<Read>(*this, from, bytes);
}
void EmulatedMemory::copy_out(void* to, const void* from, std::size_t bytes) {
  emulation::require_no_capture("copying from the device");
  count_wait();
  emulation::wait_for_stream();
  read_now(to, from, bytes);
}
void EmulatedMemory::queue_copy(void* to, const void* from, std::size_t bytes) {
  emulation::put([this, to, from, bytes] {
    watch_.copied(to, from, bytes);
    HiddenMemory::queue_copy(to, from, bytes);
  });
}
void EmulatedMemory::queue_clear(void* data, std::size_t bytes) {
  emulation::put([this, data, bytes] {
    watch_.require_allocated(data, bytes, "clearing writes");
    HiddenMemory::queue_clear(data, bytes);
    watch_.written(data, bytes);
  });
}
void EmulatedMemory::copy(void* to, const void* from, std::size_t bytes) {
  emulation::require_no_capture("copying");
  count_wait();
  queue_copy(to, from, bytes);
  emulation::wait_for_stream();
}
void EmulatedMemory::clear(void* data, std::size_t bytes) {
  emulation::require_no_capture("clearing");
  count_wait();
  queue_clear(data, bytes);
  emulation::wait_for_stream();
}
/// Each thread has one stream.
tensor::LaunchQueue::Launch EmulatedMemory::begin_launch() {
  emulation::use_device(device_);
  return {};
}

EmulatedCuda::EmulatedCuda(std::string_view name, Steps steps, int devices)
    : HiddenBackend(cuda_kernels(), name, steps, Opening::kWithin), replays_(steps == Steps::kReplay) {
  for (int number = 0; number < devices; ++number) memories_.push_back(std::make_unique<EmulatedMemory>(number));
  for (int number = 0; replays_ && number < devices; ++number) {
    // Few rows, because emulating more takes long.
    products_.push_back(std::make_unique<backend::cuda::LibraryGemm>(make_kernel_library(memory(number)),
                                                                     memory(number), std::filesystem::path(),
                                                                     std::vector<std::int64_t>{4, 16}));
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
  // A body that cannot be recorded is a fault here.
  const auto fail = [](const std::string& reason) { core::fail(core::ErrorCode::kInternal, "{}", reason); };
  return std::make_unique<backend::cuda::GraphRecorder>(std::make_unique<EmulatedCapture>(memory), &graphs_, fail);
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
