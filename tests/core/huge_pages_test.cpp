#include "dragoman/core/huge_pages.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <new>
#include <string>

#include <gtest/gtest.h>

namespace dragoman::core {
namespace {

/// Virtual memory of this process, in KiB.
long mapped_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmSize:")) return std::stol(line.substr(7));
  return 0;
}

TEST(PreferHugePages, LeavesTheContentAsItIs) {
  for (const std::size_t bytes : {0UL, 1UL, 4096UL, (4UL << 20) + 3}) {
    std::string content(bytes, 'x');
    prefer_huge_pages(content.data(), content.size());
    EXPECT_EQ(content, std::string(bytes, 'x'));
  }
}

TEST(MappedPages, AreZeroedWritableAndAligned) {
  for (const std::size_t bytes :
       {1UL, 4096UL, 4097UL, 1UL << 20, (2UL << 20) - 1, 2UL << 20, (2UL << 20) + 1, 7777777UL}) {
    auto* data = static_cast<char*>(map_pages(bytes));
    EXPECT_TRUE(std::all_of(data, data + bytes, [](char c) { return c == 0; }));
    std::fill_n(data, bytes, 'x');
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % (bytes >= (2UL << 20) ? 2UL << 20 : 4096UL), 0U) << bytes;
    unmap_pages(data, bytes);
  }
}

TEST(MappedPages, KeepTheirContentsWhenTheyBecomeLarger) {
  std::size_t bytes = 5000;
  auto* data = static_cast<char*>(map_pages(bytes));
  std::fill_n(data, bytes, 'x');
  for (const std::size_t larger : {5001UL, 300000UL, 2UL << 20, 7777777UL, 40UL << 20}) {
    data = static_cast<char*>(remap_pages(data, bytes, larger));
    EXPECT_TRUE(std::all_of(data, data + bytes, [](char c) { return c == 'x'; })) << larger;
    EXPECT_TRUE(std::all_of(data + bytes, data + larger, [](char c) { return c == 0; })) << larger;
    std::fill_n(data, larger, 'x');
    bytes = larger;
  }
  prefer_huge_pages(data + 5000000, 9000000);  // a part, which makes it several mappings
  data = static_cast<char*>(remap_pages(data, bytes, bytes + 5));
  EXPECT_TRUE(std::all_of(data, data + bytes, [](char c) { return c == 'x'; })) << "of several mappings";
  bytes += 5;
  std::fill_n(data, bytes, 'x');
  EXPECT_THROW(remap_pages(data, bytes, std::size_t{1} << 60), std::bad_alloc);
  EXPECT_TRUE(std::all_of(data, data + bytes, [](char c) { return c == 'x'; })) << "after a failure";
  const long before = mapped_kib();
  unmap_pages(data, bytes);
  EXPECT_GE(before - mapped_kib(), static_cast<long>(bytes / 1024) - 64) << "all of it goes back";
}

// A tool that watches memory maps some of its own now and then; what map_pages() did not give back would show at every
// call.
TEST(MappedPages, GoBackToTheSystem) {
  constexpr int kCalls = 200;
  int exact_while_mapped = 0;
  int exact_after = 0;
  for (int i = 0; i < kCalls; ++i) {
    const std::size_t bytes = 3333333 + static_cast<std::size_t>(i) * 4097;
    const long before = mapped_kib();
    void* data = map_pages(bytes);
    const long mapped = mapped_kib() - before;
    unmap_pages(data, bytes);
    const long left = mapped_kib() - before;
    exact_while_mapped +=
        mapped >= static_cast<long>(bytes / 1024) && mapped < static_cast<long>(bytes / 1024) + 64 ? 1 : 0;
    exact_after += left < 64 ? 1 : 0;
  }
  EXPECT_GE(exact_while_mapped, kCalls * 9 / 10) << "the slack goes back at once";
  EXPECT_GE(exact_after, kCalls * 9 / 10);
}

}  // namespace
}  // namespace dragoman::core
