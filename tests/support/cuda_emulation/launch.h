#pragma once

#include "cuda_backend_for_tests.h"
#include "streams.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Launches, and the state that they depend on: the order of blocks and threads, the device, its memory.
namespace dragoman::testing::emulation {

struct Extent {
  std::int64_t x = 1;
  std::int64_t y = 1;
};

/// Launches kernel(copy) in all threads of all blocks, in the calling thread's stream. `bytes` is the size of the copy.
/// With eager streams, the launch is complete on return.
void launch(Extent grid, int threads, std::size_t shared, void (*kernel)(const void*), const void* copy,
            std::size_t bytes);

/// Returns the number of kernels that the calling thread has launched.
std::uint64_t launches() noexcept;
/// Returns the number of these whose function name contains `kernel`.
std::uint64_t launches(std::string_view kernel);
/// `function`: the launching function as the compiler spells it, which names the kernel. A literal.
void name_kernel(void (*kernel)(const void*), const char* function);
/// Returns the name as kernel_name() spells it.
std::string name_of_kernel(void (*kernel)(const void*));

/// Returns the order of `count` blocks or threads that set_order() specifies.
std::vector<int> ordered(int count);
/// Returns a number below `bound` from the seed of set_order().
std::size_t draw(std::size_t bound);
/// Returns whether blocks are mixed: with Order::kShuffled.
bool shuffles() noexcept;
/// Returns ", seed 7", for messages; empty unless the order is random.
std::string describe_order();

/// Creates the objects that the calling thread needs for launches, so that they outlive later objects of the thread.
void prepare_launches();
/// Work that the calling thread puts into its stream from now on runs on the device with this number.
void use_device(int number) noexcept;
int used_device() noexcept;

/// Opens memory that is normally inaccessible: for all work of the program on the device, while the object exists.
class MemoryGate {
 public:
  MemoryGate(int device, std::function<void()> open, std::function<void()> close);
  MemoryGate(const MemoryGate&) = delete;
  MemoryGate& operator=(const MemoryGate&) = delete;
  ~MemoryGate();

 private:
  friend class OpenGates;
  int device_;
  std::function<void()> open_;
  std::function<void()> close_;
};

}  // namespace dragoman::testing::emulation
