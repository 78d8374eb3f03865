#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <dragoman/tensor/backend.h>

namespace dragoman::testing {

/// Whether what the functions below make is an emulation.
bool emulates_cuda();
/// The CUDA backend, named "cuda": emulated (cuda_emulation), or, in programs for machines with a GPU, the real one
/// (cuda_hardware).
std::shared_ptr<tensor::Backend> make_cuda_backend();
/// The same named "captured", which makes the kernel calls of equal steps again; nullptr where there is none.
std::shared_ptr<tensor::Backend> make_capturing_cuda_backend();
/// One named "cuda" with two devices; nullptr where there are none such.
std::shared_ptr<tensor::Backend> make_two_cuda_devices();

namespace emulation {

/// In which order blocks run and threads take turns between barriers. Nothing may depend on it. With kShuffled several
/// blocks are under way at a time, and whose turn is next is drawn.
enum class Order { kForward, kBackward, kShuffled };

/// Of the launches that the calling thread makes from now on. Every launch shuffles anew, by `seed`, which messages
/// name. A GPU has orders of its own.
void set_order(Order order, std::uint64_t seed = 0);

/// Whether the streams of all threads are lazy: work waits until its thread waits for it, so everything that the host
/// does in the meantime comes first. The order within a stream stays. Otherwise a launch is done when it returns.
void set_lazy_streams(bool lazy) noexcept;

/// Whether races in the device's memory are watched, in all threads: in a launch two threads use the same bytes, one of
/// them writing, and no barrier of their block is between.
void set_watched_races(bool watched) noexcept;

/// Of all contexts of an emulated backend: how many bodies of steps were run, and how many made again without.
struct Replays {
  std::size_t run = 0;
  std::size_t replayed = 0;
};
Replays replays(const tensor::Backend& backend);
/// Of an emulated backend.
std::uint64_t bytes_taken(const tensor::Backend& backend, int device);

}  // namespace emulation
}  // namespace dragoman::testing
