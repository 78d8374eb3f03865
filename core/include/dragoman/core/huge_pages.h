#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace dragoman::core {

/// Allocates memory that is aligned to cache lines. Throws std::bad_alloc. Thread-safe.
///
/// Blocks of 2 MB (a huge page) or more are aligned to huge pages, and the operating system is advised to use them
/// before the first touch. Tables that are probed at random then miss the TLB less often, and a block has 512 times
/// fewer page faults.
void* allocate_pages(std::size_t bytes);
/// Frees memory of allocate_pages(). `bytes` is the size passed to it.
void free_pages(void* data, std::size_t bytes) noexcept;

/// Advises the operating system to use huge pages for what a block has of them. For a large block of another allocator,
/// before its first touch.
void prefer_huge_pages(void* data, std::size_t bytes) noexcept;

/// Like allocate_pages(), but maps the memory directly, so unmap_pages() returns all of it to the operating system. Use
/// it for large blocks with different lifetimes, since the heap would retain most of them. Returns whole pages,
/// initialised to zero.
void* map_pages(std::size_t bytes);
/// Enlarges memory of map_pages() from `bytes` to `larger` bytes, and returns where it is now. The contents move with
/// their pages and are copied only if the system cannot move them. The new bytes are zero. Throws std::bad_alloc, and
/// then the memory is as it was.
void* remap_pages(void* data, std::size_t bytes, std::size_t larger);
/// Unmaps memory of map_pages() or remap_pages(). `bytes` is the size passed to it.
void unmap_pages(void* data, std::size_t bytes) noexcept;

/// An allocator for containers of plain data. resize(n) leaves new elements of trivial types uninitialised; resize(n,
/// value) initialises them.
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

/// A vector of plain data in pages of allocate_pages().
template <class T>
using PageVector = std::vector<T, PageAllocator<T>>;

}  // namespace dragoman::core
