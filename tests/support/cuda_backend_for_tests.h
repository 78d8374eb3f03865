#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <dragoman/tensor/backend.h>

namespace dragoman::testing {

/// Returns whether the functions below create an emulation.
bool emulates_cuda();
/// Creates the CUDA backend with the name "cuda": emulated (cuda_emulation), or, in programs for machines with a GPU,
/// the real one (cuda_hardware).
std::shared_ptr<tensor::Backend> make_cuda_backend();
/// Creates the same backend with the name "captured", which replays the kernel calls of equal steps. nullptr if there
/// is none.
std::shared_ptr<tensor::Backend> make_capturing_cuda_backend();
/// Creates a backend with the name "cuda" and two devices. nullptr if there is none.
std::shared_ptr<tensor::Backend> make_two_cuda_devices();

namespace emulation {

/// The order in which blocks run and threads take turns between barriers. Results must not depend on it. With
/// kShuffled, several blocks run at a time, and the next turn is drawn at random.
enum class Order { kForward, kBackward, kShuffled };

/// Sets the order of the launches that the calling thread makes from now on. Every launch is shuffled anew by `seed`,
/// which messages contain. A GPU has its own orders.
void set_order(Order order, std::uint64_t seed = 0);

/// Sets whether the streams of all threads are lazy. Work in a lazy stream runs when its thread waits for it, so that
/// everything that the host does in the meantime comes first. The order within a stream is kept. Otherwise a launch is
/// complete when it returns.
void set_lazy_streams(bool lazy) noexcept;

/// Sets whether races in device memory are detected, in all threads: two threads of a launch use the same bytes, at
/// least one of them writes, and there is no barrier of their block between the accesses.
void set_watched_races(bool watched) noexcept;

/// Counts of all contexts of an emulated backend: bodies of steps that were run, and steps that were replayed without
/// running the body.
struct Replays {
  std::size_t run = 0;
  std::size_t replayed = 0;
};
Replays replays(const tensor::Backend& backend);
/// For an emulated backend.
std::uint64_t bytes_taken(const tensor::Backend& backend, int device);

}  // namespace emulation
}  // namespace dragoman::testing
