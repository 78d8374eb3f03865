#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace dragoman::core {

/// Memory aligned to cache lines. Blocks of a huge page (2 MB) and more are aligned to one and advised to the operating
/// system as such before their first touch: tables that are probed at random then miss the TLB less, and a block
/// faults in 512 times less often. Throws std::bad_alloc. Thread-safe.
void* allocate_pages(std::size_t bytes);
/// `bytes` as given to allocate_pages().
void free_pages(void* data, std::size_t bytes) noexcept;

/// The same from the operating system itself, which gets it all back: for large blocks that come and go at different
/// times, of which the heap would keep most. Whole pages, zeroed at first.
void* map_pages(std::size_t bytes);
void unmap_pages(void* data, std::size_t bytes) noexcept;

/// For containers of plain data. resize() leaves new elements of trivial types uninitialised; resize(n, value) does
/// not.
template <class T>
class PageAllocator {
 public:
  using value_type = T;
  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>&) noexcept {}  // NOLINT: implicit, as the standard asks of allocators
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_pages(n * sizeof(T))); }
  void deallocate(T* data, std::size_t n) noexcept { free_pages(data, n * sizeof(T)); }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0)
      ::new (static_cast<void*>(place)) U;
    else
      std::construct_at(place, std::forward<Arguments>(arguments)...);
  }
  template <class U>
  bool operator==(const PageAllocator<U>&) const noexcept {
    return true;
  }
};

template <class T>
using PageVector = std::vector<T, PageAllocator<T>>;

}  // namespace dragoman::core
