#pragma once

#include "growth.h"
#include "scratch.h"
#include "target.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <dragoman/formats/checksums.h>

namespace dragoman::fuzz {

/// Verifies a folder of two files by a SHA256SUMS with this content. True if it says what they are.
inline bool exercise_checksums(std::string_view bytes) {
  static const std::filesystem::path folder = [] {
    const std::filesystem::path made = scratch() / "sums";
    std::filesystem::create_directory(made);
    put_file(made / "a.txt", "a\n");
    put_file(made / "b", "b\n");
    return made;
  }();
  put_file(folder / "SHA256SUMS", bytes);
  return accepts([&] {
    promise(formats::verify_checksums(folder) == std::vector<std::string>{"a.txt", "b"},
            "a folder that is verified has every file listed, and no other");
  });
}

inline std::string many_sums(std::string_view seed, std::size_t size) {
  return std::string(seed) +
         parts(size, [](std::size_t i) { return std::string(64, '0') + fmt::format("  file_{}\n", i); });
}

inline Target checksums_target() {
  return {
      .name = "checksums",
      .exercise = exercise_checksums,
      .rounds = 100,
      .growths = {{"many sums", "text", many_sums, "is missing"}},
      .refuses_growth = "the folder has two files",
  };
}

}  // namespace dragoman::fuzz
