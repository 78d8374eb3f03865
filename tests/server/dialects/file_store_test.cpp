#include "libretranslate/file_store.h"

#include <gtest/gtest.h>

namespace dragoman::server {
namespace {

TEST(FileStore, EmptyFilesTakeMemoryToo) {
  FileStore store(1 << 20, std::chrono::minutes(30));
  const std::string first = store.put("a.txt", "");
  for (int i = 0; i < 3000; ++i) store.put("a.txt", "");
  EXPECT_FALSE(store.get(first)) << "3000 entries of 512 bytes are more than 1 MiB";
  const std::string last = store.put("b.txt", "x");
  EXPECT_EQ(store.get(last), "x");
}

}  // namespace
}  // namespace dragoman::server
