#pragma once

#include "foreign_model.h"
#include "growth.h"
#include "stored_zip.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace dragoman::fuzz {

/// A model of Marian, .npz or .bin as its first bytes say, and its vocabulary.
inline bool exercise_marian(std::string_view bytes) {
  return read_foreign_model("marian", put_foreign_files("marian", bytes, {"model.npz", "vocab.yml", "decoder.yml"}));
}

/// The seed with more arrays, each a copy of its first one under another name.
inline std::string many_arrays(std::string_view seed, std::size_t size) {
  const auto [archive, rest] = split_files(seed);
  std::vector<ZipFile> files = files_of_zip(archive);
  const std::string array = files.front().content;
  for (std::size_t i = 0; i < std::min<std::size_t>(size / (array.size() + 120), 60000); ++i)
    files.push_back({fmt::format("array_{}.npy", i), array});
  return zip_of(files) + std::string(rest);
}

inline std::string model_files_of_shared_bytes(std::string_view seed, std::size_t size) {
  return files_of_shared_bytes(seed, size) + std::string(split_files(seed).rest);
}

/// The settings in the seed, grown as YAML grows. They are an array of bytes with NumPy's header of 128 bytes.
inline std::string grown_settings(std::string_view seed, Growth growth, std::size_t size) {
  constexpr std::size_t kHeader = 128;
  const auto [archive, rest] = split_files(seed);
  std::vector<ZipFile> files = files_of_zip(archive);
  for (ZipFile& file : files) {
    if (file.name != "special:model.yml.npy") continue;
    std::string yaml = file.content.substr(kHeader);
    while (!yaml.empty() && yaml.back() == '\0') yaml.pop_back();
    const std::string grown = grow(yaml, growth, 1, size);
    std::string header = fmt::format("{{'descr': '|i1', 'fortran_order': False, 'shape': ({},), }}", grown.size());
    header.resize(kHeader - 11, ' ');
    file.content = "\x93NUMPY" + little_endian(1, 2) + little_endian(header.size() + 1, 2);
    file.content.append(header).append("\n").append(grown);
  }
  return zip_of(files) + std::string(rest);
}

inline std::string settings_with_aliases(std::string_view seed, std::size_t size) {
  return grown_settings(seed, Growth::kAlias, size);
}

inline std::string settings_with_levels(std::string_view seed, std::size_t size) {
  return grown_settings(seed, Growth::kNest, size);
}

inline Target marian_target() {
  // What is deflated may become a thousand times as long, once as it stands and once turned.
  return {
      .name = "marian",
      .exercise = exercise_marian,
      .budget = {.milliseconds = 200,
                 .microseconds_per_byte = 20,
                 .bytes = std::size_t{32} << 20,
                 .bytes_per_byte = 4096},
      .rounds = 100,
      .growths = {{"many arrays", "plain", many_arrays, "of no use in such a model"},
                  {"files of shared bytes", "plain", model_files_of_shared_bytes, "share bytes"},
                  {"settings with aliases", "plain", settings_with_aliases, "too many values"},
                  {"settings with levels", "plain", settings_with_levels, "nested too deeply"}},
      .refuses_growth = "its settings are bounded, and its weights are those that they speak of",
  };
}

}  // namespace dragoman::fuzz
