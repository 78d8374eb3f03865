#pragma once

#include "foreign_model.h"
#include "stored_zip.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace dragoman::fuzz {

/// model.bin, config.json and the vocabulary of a folder of CTranslate2.
inline bool exercise_ctranslate2(std::string_view bytes) {
  return read_foreign_model(
      "ctranslate2", put_foreign_files("ctranslate2", bytes, {"model.bin", "config.json", "shared_vocabulary.json"}));
}

inline std::string named(std::string_view name) {
  return little_endian(name.size() + 1, 2) + std::string(name) + '\0';
}

/// Where the number of arrays stands: behind the binary version, the model's name and its revision.
inline std::size_t place_of_arrays(std::string_view model) {
  return 4 + 2 + number_at(model, 4, 2) + 4;
}

/// Where the number of aliases stands: behind the last array.
inline std::size_t place_of_aliases(std::string_view model) {
  std::size_t at = place_of_arrays(model);
  std::size_t left = number_at(model, at, 4);
  for (at += 4; left > 0; --left) {
    at += 2 + number_at(model, at, 2);
    at += 1 + 4 * number_at(model, at, 1) + 1;
    at += 4 + number_at(model, at, 4);
  }
  return at;
}

/// A model with more entries in the list whose number of entries stands at `place`, and the other files of the seed.
inline std::string with_more_entries(std::string_view seed, std::size_t place,
                                     const std::vector<std::string>& entries) {
  std::string text(seed.substr(0, place));
  text += little_endian(number_at(seed, place, 4) + entries.size(), 4);
  for (const std::string& entry : entries) text += entry;
  return text + std::string(seed.substr(place + 4));
}

inline std::string more_arrays(std::string_view seed, std::size_t size) {
  std::vector<std::string> arrays;
  for (std::size_t i = 0; i < size / 25; ++i)
    arrays.push_back(named(fmt::format("array_{}", i)) + std::string("\0\1", 2) + little_endian(1, 4) + "x");
  return with_more_entries(seed, place_of_arrays(seed), arrays);
}

/// Many names of the model's first array.
inline std::string many_aliases(std::string_view seed, std::size_t size) {
  const std::size_t first = place_of_arrays(seed) + 4;
  const std::string array(seed.substr(first, 2 + number_at(seed, first, 2)));
  std::vector<std::string> aliases;
  for (std::size_t i = 0; i < size / 40; ++i) aliases.push_back(named(fmt::format("alias_{}", i)) + array);
  return with_more_entries(seed, place_of_aliases(seed), aliases);
}

inline Target ctranslate2_target() {
  return {
      .name = "ctranslate2",
      .exercise = exercise_ctranslate2,
      .budget = {.milliseconds = 200,
                 .microseconds_per_byte = 10,
                 .bytes = std::size_t{32} << 20,
                 .bytes_per_byte = 256},
      .rounds = 100,
      .growths = {{"many arrays", "opus-int8", more_arrays, "of no use in such a model"},
                  {"many aliases", "opus-int8", many_aliases}},
  };
}

}  // namespace dragoman::fuzz
