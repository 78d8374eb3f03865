// This program's malloc() is glibc's, counted.
#include "allocation_count.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>

#include <cxxabi.h>
#include <execinfo.h>
#include <link.h>

namespace dragoman::testing {
namespace {

constexpr int kKeptCallers = 2048;
constexpr int kFrames = 20;

struct Caller {
  std::array<void*, kFrames> frames;
  int depth;
};

std::atomic<bool> counting{false};
std::atomic<std::int64_t> ours{0};
std::atomic<std::int64_t> of_onednn{0};
std::array<Caller, kKeptCallers> callers;
/// backtrace() may allocate.
thread_local bool looking_back = false;

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
Range onednn;  ///< where the library is loaded

int find_onednn(dl_phdr_info* library, std::size_t, void*) noexcept {
  if (std::string_view(library->dlpi_name).find("libdnnl") == std::string_view::npos) return 0;
  onednn.begin = library->dlpi_addr;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD)
      onednn.end = std::max<std::uintptr_t>(onednn.end, library->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  return 1;
}

bool has_onednn(const Caller& caller) noexcept {
  return std::any_of(caller.frames.begin(), caller.frames.begin() + caller.depth, [](void* frame) {
    const auto address = reinterpret_cast<std::uintptr_t>(frame);
    return address >= onednn.begin && address < onednn.end;
  });
}

void* counted(void* memory) noexcept {
  if (looking_back || !counting.load(std::memory_order_relaxed)) return memory;
  looking_back = true;
  Caller caller{};
  caller.depth = backtrace(caller.frames.data(), kFrames);
  looking_back = false;
  if (has_onednn(caller)) {
    of_onednn.fetch_add(1);
    return memory;
  }
  const std::int64_t place = ours.fetch_add(1);
  if (place < kKeptCallers) callers[static_cast<std::size_t>(place)] = caller;
  return memory;
}

/// "function" of "program(function+0x12) [0x...]", demangled and without its parameters; else the line as it is.
std::string function_of(const std::string& line) {
  const auto begin = line.find('(');
  const auto end = line.find('+', begin);
  if (begin == std::string::npos || end == std::string::npos || end == begin + 1) return line;
  std::string name = line.substr(begin + 1, end - begin - 1);
  int status = 0;
  char* demangled = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (status == 0) name = demangled;
  std::free(demangled);
  return name.substr(0, name.find('('));
}

/// What lies between malloc() and the test itself.
std::string chain_of(const Caller& caller) {
  std::string chain;
  char** lines = backtrace_symbols(caller.frames.data(), caller.depth);
  for (int i = 2; i < caller.depth; ++i) {
    const std::string function = function_of(lines[i]);
    if (function.starts_with("testing::") || function.find("HandleExceptions") != std::string::npos) break;
    if (!function.starts_with("operator new")) chain += (chain.empty() ? "" : " < ") + function;
  }
  std::free(lines);
  return chain;
}

}  // namespace

AllocationCount::AllocationCount() noexcept {
  // What backtrace() loads on its first call.
  std::array<void*, 1> frame;
  backtrace(frame.data(), 1);
  dl_iterate_phdr(find_onednn, nullptr);
  for (Caller& caller : testing::callers) caller.depth = 0;
  testing::ours = 0;
  testing::of_onednn = 0;
  counting = true;
}

void AllocationCount::stop() noexcept {
  counting = false;
  ours_ = testing::ours;
  of_onednn_ = testing::of_onednn;
}

std::string AllocationCount::callers() {
  std::map<std::string, int> found;
  for (const Caller& caller : testing::callers)
    if (caller.depth > 0) ++found[chain_of(caller)];
  std::string text;
  for (const auto& [chain, times] : found) text += std::to_string(times) + " x " + chain + "\n";
  return text;
}

}  // namespace dragoman::testing

// glibc's own entry points: https://www.gnu.org/software/libc/manual/html_node/Replacing-malloc.html
extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT(*-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT(*-reserved-identifier)
void* __libc_realloc(void* memory, std::size_t size);            // NOLINT(*-reserved-identifier)
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT(*-reserved-identifier)

void* malloc(std::size_t size) noexcept {
  return dragoman::testing::counted(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return dragoman::testing::counted(__libc_calloc(count, size));
}
void* realloc(void* memory, std::size_t size) noexcept {
  return dragoman::testing::counted(__libc_realloc(memory, size));
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return dragoman::testing::counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return dragoman::testing::counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  void* result = dragoman::testing::counted(__libc_memalign(alignment, size));
  if (result == nullptr) return ENOMEM;
  *memory = result;
  return 0;
}
}
