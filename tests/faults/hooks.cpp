// Loaded into the program by LD_PRELOAD: makes an allocation of Dragoman's own fail, or the calendar clock jump.
//
// DRAGOMAN_FAULT_ALLOCATION=K    the K-th allocation with operator new fails ("K+": it and all later ones)
// DRAGOMAN_FAULT_ALLOCATIONS=F   writes the number of such allocations to file F at the end
// DRAGOMAN_FAULT_TRACE=1         writes to standard error who asked for the first allocation that failed
// DRAGOMAN_FAULT_CRASH=F         if the program crashes in other people's code, file F says in which library
// DRAGOMAN_FAULT_CLOCK=SEED      each look at the calendar clock gives a time up to a day before or behind the true one
//
// Counted are allocations while main() runs that Dragoman's modules make, by themselves or through libstdc++. What
// other people's libraries allocate for their own purposes always succeeds.

#include "code_map.h"

#include <sys/time.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include <dlfcn.h>
#include <execinfo.h>

namespace {

using dragoman::faults::CodeMap;

constexpr int kFrames = 24;
CodeMap* code_map = nullptr;  // made once, never destroyed: allocations go on to the last
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> allocations{0};
std::uint64_t first_failing = 0;
bool all_later_fail = false;
bool trace = false;

/// libstdc++ moves directory iterators on in a function that is noexcept and allocates: nobody who uses it can mend
/// that.
bool cannot_take_it(const void* place) {
  Dl_info info{};
  return dladdr(place, &info) != 0 && info.dli_sname != nullptr &&
         std::strstr(info.dli_sname, "directory_iterator") != nullptr;
}

/// Whether the first caller that is known is Dragoman.
bool wanted_by_us(const void* caller) {
  const CodeMap::Owner owner = code_map->owner_of(caller);
  if (owner != CodeMap::Owner::kNobody) return owner == CodeMap::Owner::kDragoman;
  std::array<void*, kFrames> frames{};
  const int depth = backtrace(frames.data(), kFrames);
  for (int i = 1; i < depth; ++i) {
    if (cannot_take_it(frames[static_cast<std::size_t>(i)])) return false;
    const CodeMap::Owner frame_owner = code_map->owner_of(frames[static_cast<std::size_t>(i)]);
    if (frame_owner != CodeMap::Owner::kNobody) return frame_owner == CodeMap::Owner::kDragoman;
  }
  return false;
}

thread_local bool looking = false;  // backtrace() may allocate

void print_trace() {
  looking = true;
  std::array<void*, kFrames> frames{};
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), kFrames), 2);
  looking = false;
}

bool must_fail(const void* caller) {
  if (!counting.load(std::memory_order_relaxed) || looking) return false;
  looking = true;
  const bool ours = wanted_by_us(caller);
  looking = false;
  if (!ours) return false;
  const std::uint64_t number = allocations.fetch_add(1, std::memory_order_relaxed) + 1;
  if (trace && number == first_failing) print_trace();
  return first_failing != 0 && (all_later_fail ? number >= first_failing : number == first_failing);
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) {
  if (must_fail(caller)) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment, const void* caller) {
  void* memory = allocate(size, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void write_count() {
  const char* path = std::getenv("DRAGOMAN_FAULT_ALLOCATIONS");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return;
  std::fprintf(file, "%llu\n", static_cast<unsigned long long>(allocations.load()));
  std::fclose(file);
}

/// Notes in whose code the program crashes, and lets it crash.
void note_crash(int number) {
  looking = true;
  std::array<void*, kFrames> frames{};
  const int depth = backtrace(frames.data(), kFrames);
  for (int i = 1; i < depth; ++i) {
    const void* place = frames[static_cast<std::size_t>(i)];
    const CodeMap::Owner owner = code_map->owner_of(place);
    if (owner == CodeMap::Owner::kNobody) continue;
    Dl_info info{};
    if (owner == CodeMap::Owner::kOthers && dladdr(place, &info) != 0)
      if (std::FILE* file = std::fopen(std::getenv("DRAGOMAN_FAULT_CRASH"), "w")) {
        std::fprintf(file, "%s\n", info.dli_fname);
        std::fclose(file);
      }
    break;
  }
  std::signal(number, SIG_DFL);
  std::raise(number);
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

int counted_main(int count, char** arguments, char** environment) {
  if (const char* failing = std::getenv("DRAGOMAN_FAULT_ALLOCATION")) {
    char* end = nullptr;
    first_failing = std::strtoull(failing, &end, 10);
    all_later_fail = *end == '+';
    trace = std::getenv("DRAGOMAN_FAULT_TRACE") != nullptr;
  }
  const bool notes_crashes = std::getenv("DRAGOMAN_FAULT_CRASH") != nullptr;
  const bool wanted = first_failing != 0 || std::getenv("DRAGOMAN_FAULT_ALLOCATIONS") != nullptr;
  std::array<void*, 4> warm{};
  backtrace(warm.data(), 4);  // loads the unwinder before it is needed in the middle of things
  if (wanted || notes_crashes) {
    code_map = new CodeMap;
    code_map->read_modules();
  }
  if (notes_crashes)
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(number, note_crash);
  counting = wanted;
  const int status = real_main(count, arguments, environment);
  counting = false;
  write_count();
  return status;
}

/// A day back or forth, another one at each look.
long jump() {
  static std::atomic<std::uint64_t> state{0};
  static const char* seed = std::getenv("DRAGOMAN_FAULT_CLOCK");
  if (seed == nullptr) return 0;
  std::uint64_t x = state.fetch_add(0x9E3779B97F4A7C15U) + std::strtoull(seed, nullptr, 10);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  constexpr long kDay = 86400;
  return static_cast<long>((x ^ (x >> 31)) % (2 * kDay)) - kDay;
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int __libc_start_main(Main main, int count, char** arguments, Main initialise, void (*finish)(), void (*loader)(),
                      void* stack) {
  real_main = main;
  using Start = int (*)(Main, int, char**, Main, void (*)(), void (*)(), void*);
  return real<Start>("__libc_start_main")(counted_main, count, arguments, initialise, finish, loader, stack);
}

int clock_gettime(clockid_t clock, struct timespec* now) noexcept {
  static const auto next = real<int (*)(clockid_t, struct timespec*)>("clock_gettime");
  const int status = next(clock, now);
  if (status == 0 && clock == CLOCK_REALTIME) now->tv_sec += jump();
  return status;
}

time_t time(time_t* where) noexcept {
  static const auto next = real<time_t (*)(time_t*)>("time");
  const time_t now = next(nullptr) + jump();
  if (where != nullptr) *where = now;
  return now;
}

int gettimeofday(struct timeval* now, void* zone) noexcept {
  static const auto next = real<int (*)(struct timeval*, void*)>("gettimeofday");
  const int status = next(now, zone);
  if (status == 0) now->tv_sec += jump();
  return status;
}

}  // extern "C"

#define CALLER __builtin_return_address(0)
constexpr std::size_t kPlain = alignof(std::max_align_t);

void* operator new(std::size_t size) {
  return allocate_or_throw(size, kPlain, CALLER);
}
void* operator new[](std::size_t size) {
  return allocate_or_throw(size, kPlain, CALLER);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, kPlain, CALLER);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, kPlain, CALLER);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment), CALLER);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment), CALLER);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment), CALLER);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment), CALLER);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
