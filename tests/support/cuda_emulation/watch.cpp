#include "watch.h"

#include "block.h"
#include "costs.h"
#include "races.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include <dlfcn.h>
#include <fmt/format.h>

namespace dragoman::testing::emulation {
namespace {

/// Returns the first byte whose state is below `least`.
const std::uint8_t* first_below(const std::uint8_t* begin, std::size_t bytes, ByteState least) {
  return std::find_if(begin, begin + bytes,
                      [&](std::uint8_t state) { return state < static_cast<std::uint8_t>(least); });
}

std::string byte_below(const void* data, std::size_t bytes, ByteState least) {
  const std::uint8_t* const shadow = shadow_of(data);
  if (shadow == nullptr) return {};
  const std::uint8_t* const found = first_below(shadow, bytes, least);
  if (found == shadow + bytes) return {};
  const bool is_free = *found == static_cast<std::uint8_t>(ByteState::kFree);
  return fmt::format("byte {} of {} at {}, which {}", found - shadow, bytes, data,
                     is_free ? "is not allocated" : "nothing has written since it was allocated");
}

}  // namespace

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
