#include "dragoman/formats/mapped_file.h"

#include "test_data.h"

#include <fstream>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include <dragoman/core/file.h>

namespace dragoman::formats {
namespace {

/// Bytes of the mapping of `path` that are in this process's memory, as the kernel counts them.
std::size_t resident_bytes(const std::filesystem::path& path) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('/') != std::string::npos) inside = line.ends_with(path.string());
    if (inside && line.starts_with("Rss:")) return std::stoul(line.substr(4)) * 1024;
  }
  ADD_FAILURE() << path << " is not mapped";
  return 0;
}

std::uint64_t sum(std::span<const std::byte> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0},
                         [](std::uint64_t total, std::byte b) { return total + std::to_integer<unsigned>(b); });
}

TEST(MappedFile, ReleasedPagesLeaveMemoryAndComeBack) {
  constexpr std::size_t kSize = std::size_t{4} << 20;
  const dragoman::testing::TemporaryFolder folder;
  std::string content(kSize, '\0');
  for (std::size_t i = 0; i < kSize; ++i) content[i] = static_cast<char>(i * 7 + i / 4096);
  core::write_file(folder / "weights", content);

  const MappedFile file(folder / "weights");
  const std::uint64_t expected = sum(file.bytes());
  EXPECT_EQ(resident_bytes(folder / "weights"), kSize);
  release_pages(file.bytes().data() + 100, kSize - 100);  // the first page is only partly released: it must stay
  EXPECT_LE(resident_bytes(folder / "weights"), std::size_t{4096});
  EXPECT_EQ(sum(file.bytes()), expected);
}

TEST(MappedFile, ItsNameIsKnownByItsAddresses) {
  const dragoman::testing::TemporaryFolder folder;
  core::write_file(folder / "weights", "1234");
  const std::byte* begin = nullptr;
  {
    const MappedFile file(folder / "weights");
    begin = file.bytes().data();
    EXPECT_STREQ(name_of_mapped_file(begin), (folder / "weights").c_str());
    EXPECT_STREQ(name_of_mapped_file(begin + 3), (folder / "weights").c_str());
    EXPECT_EQ(name_of_mapped_file(begin + 4), nullptr);
  }
  EXPECT_EQ(name_of_mapped_file(begin), nullptr);
}

}  // namespace
}  // namespace dragoman::formats
