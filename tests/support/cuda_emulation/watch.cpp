#include "watch.h"

#include "block.h"
#include "costs.h"
#include "races.h"

#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

namespace dragoman::testing::emulation {
namespace {

/// Returns the first byte whose state is below `least`.
const std::uint8_t* first_below(const std::uint8_t* begin, std::size_t bytes, ByteState least) {
  return std::find_if(begin, begin + bytes,
                      [&](std::uint8_t state) { return state < static_cast<std::uint8_t>(least); });
}

std::string byte_below(const void* data, std::size_t bytes, ByteState least) {
  if (!kWatchesKernels || bytes == 0) return {};
  const std::uint8_t* const shadow = shadow_of(data);
  if (shadow == nullptr) return fmt::format("byte 0 of {} at {}, which is not memory of a device", bytes, data);
  const std::uint8_t* const found = first_below(shadow, bytes, least);
  if (found == shadow + bytes) return {};
  const bool is_free = *found == static_cast<std::uint8_t>(ByteState::kFree);
  return fmt::format("byte {} of {} at {}, which {}", found - shadow, bytes, data,
                     is_free ? "is not allocated" : "nothing has written since it was allocated");
}

/// Returns whether the bytes are in a part of the program, or of a library, that cannot be written.
bool is_constant(const void* data, std::size_t bytes) {
  struct Sought {
    std::uintptr_t begin;
    std::uintptr_t end;
  } sought{reinterpret_cast<std::uintptr_t>(data), reinterpret_cast<std::uintptr_t>(data) + bytes};
  const auto look = [](dl_phdr_info* info, std::size_t, void* wanted) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& part = info->dlpi_phdr[i];
      const bool constant = (part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0) || part.p_type == PT_GNU_RELRO;
      const auto [begin, end] = *static_cast<const Sought*>(wanted);
      const std::uintptr_t first = info->dlpi_addr + part.p_vaddr;
      if (constant && begin >= first && end <= first + part.p_memsz) return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(look, &sought) != 0;
}

std::atomic<int> allowing_host_memory = 0;
bool host_memory_is_allowed() {
  return Block::running() == nullptr || allowing_host_memory > 0;
}

/// Returns whether the host can read or write the byte. Calls the system alone, because the stack of an emulated thread
/// is small.
bool host_can_access(void* address, bool writes) {
  char byte = 0;
  const iovec own{&byte, 1};
  const iovec sought{address, 1};
  const auto failed = [](ssize_t copied) { return copied != 1 && errno == EFAULT; };
  if (failed(process_vm_readv(getpid(), &own, 1, &sought, 1, 0))) return false;
  return !writes || !failed(process_vm_writev(getpid(), &own, 1, &sought, 1, 0));
}

/// The kernel continues with the access, and the launch fails afterwards. If the host cannot do the access, either, the
/// program ends with the report instead of a signal.
void report_host_access(const void* address, std::size_t bytes, bool writes, const void* code) {
  const std::string what = fmt::format("{} {} bytes at {}, which is not memory of a device ({})",
                                       writes ? "writes" : "reads", bytes, address, place_of_code(code));
  if (host_can_access(const_cast<void*>(address), writes)) return Block::report(what);
  Block::end_program(what);
}

}  // namespace

constinit thread_local KernelMemory kernel_memory;

std::array<std::atomic<std::uint8_t*>, std::size_t{1} << (47 - kRangeBits)> shadows;

std::string unwritten_byte(const void* data, std::size_t bytes) {
  return byte_below(data, bytes, ByteState::kWritten);
}
std::string free_byte(const void* data, std::size_t bytes) {
  return byte_below(data, bytes, ByteState::kAllocated);
}

std::string place_of_code(const void* code) {
  Dl_info info{};
  if (dladdr(code, &info) == 0 || info.dli_fname == nullptr) return fmt::format("{}", code);
  const auto offset = static_cast<const char*>(code) - static_cast<const char*>(info.dli_fbase) - 1;
  return fmt::format("addr2line -ife {} {:#x}", info.dli_fname, offset);
}

void check_load(const void* from, std::size_t bytes, const void* code) {
  const std::string wrong = unwritten_byte(from, bytes);
  if (!wrong.empty()) return Block::report(fmt::format("reads {} ({})", wrong, place_of_code(code)));
  if (watches_races) check_races(from, bytes, false, code);
  if (counts_costs) bytes_loaded += bytes;
}

void check_store(const void* to, std::size_t bytes, const void* code) {
  const std::string wrong = free_byte(to, bytes);
  if (!wrong.empty()) return Block::report(fmt::format("writes {} ({})", wrong, place_of_code(code)));
  std::memset(shadow_of(to), static_cast<int>(ByteState::kWritten), bytes);
  if (watches_races) check_races(to, bytes, true, code);
  if (counts_costs) bytes_stored += bytes;
}

void check_host_load(const void* from, std::size_t bytes, const void* code) {
  if (!host_memory_is_allowed() && !Block::current().owns(from, bytes) && !is_constant(from, bytes))
    report_host_access(from, bytes, false, code);
}
void check_host_store(const void* to, std::size_t bytes, const void* code) {
  if (!host_memory_is_allowed()) report_host_access(to, bytes, true, code);
}
HostMemoryAllowed::HostMemoryAllowed() noexcept {
  ++allowing_host_memory;
}
HostMemoryAllowed::~HostMemoryAllowed() {
  --allowing_host_memory;
}

std::atomic<bool> watches_each_access = std::getenv("DRAGOMAN_TEST_RACES") != nullptr;

void update_watched_accesses() noexcept {
  watches_each_access = watches_races || counts_costs;
}

Watch::Watch(void* begin)
    : slot_(reinterpret_cast<std::uintptr_t>(begin) >> kRangeBits),
      shadow_(static_cast<std::uint8_t*>(
          mmap(nullptr, kRange, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  if (shadow_ == MAP_FAILED) throw std::bad_alloc();
  if constexpr (kWatchesKernels) shadows.at(slot_) = shadow_;
}

Watch::~Watch() {
  if constexpr (kWatchesKernels) shadows.at(slot_) = nullptr;
  munmap(shadow_, kRange);
}

void Watch::set(const void* data, std::size_t bytes, ByteState state) noexcept {
  if (std::uint8_t* const shadow = shadow_of(data)) std::memset(shadow, static_cast<int>(state), bytes);
}

void Watch::given_back(const void* data, std::size_t bytes) noexcept {
  set(data, bytes, ByteState::kFree);
}

void Watch::copied(const void* to, const void* from, std::size_t bytes) {
  require_allocated(from, bytes, "a copy within the device reads");
  require_allocated(to, bytes, "a copy within the device writes");
  if (std::uint8_t* const shadow = shadow_of(to)) std::memmove(shadow, shadow_of(from), bytes);
}

void Watch::require_written(const void* data, std::size_t bytes, const char* what) const {
  const std::string wrong = unwritten_byte(data, bytes);
  if (!wrong.empty()) throw std::runtime_error(fmt::format("{} {}", what, wrong));
}

void Watch::require_allocated(const void* data, std::size_t bytes, const char* what) const {
  const std::string wrong = free_byte(data, bytes);
  if (!wrong.empty()) throw std::runtime_error(fmt::format("{} {}", what, wrong));
}

}  // namespace dragoman::testing::emulation
