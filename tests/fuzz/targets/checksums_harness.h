#pragma once

#include "scratch.h"
#include "target.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

inline Target checksums_target() {
  return {.name = "checksums", .exercise = exercise_checksums, .rounds = 100};
}

}  // namespace dragoman::fuzz
