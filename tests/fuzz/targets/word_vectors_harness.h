#pragma once

#include "run/word_vectors.h"
#include "target.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace dragoman::fuzz {

struct VectorRead {
  std::string piece;
  std::vector<double> values;
  std::uint64_t line = 0;
  bool operator==(const VectorRead&) const = default;
};

inline std::vector<VectorRead> read_vectors(std::string_view text, std::int64_t width, std::size_t step) {
  std::vector<VectorRead> vectors;
  training::WordVectorParser parser("fuzz", width, [&](const training::WordVector& vector) {
    vectors.push_back({std::string(vector.piece), {vector.values.begin(), vector.values.end()}, vector.line});
  });
  for (std::size_t begin = 0; begin < text.size(); begin += step) parser.feed(text.substr(begin, step));
  parser.finish();
  promise(parser.vectors() == vectors.size(), "every vector is counted and handed on");
  return vectors;
}

/// Reads the bytes behind the first as vectors, whose width that one says, from 1 to 8. True if they were some.
inline bool exercise_word_vectors(std::string_view bytes) {
  if (bytes.empty()) return false;
  const std::int64_t width = 1 + (bytes[0] & 7);
  const std::string_view text = bytes.substr(1);
  std::vector<VectorRead> vectors;
  const bool accepted = accepts([&] { vectors = read_vectors(text, width, 1 << 16); });
  std::vector<VectorRead> in_parts;
  promise(accepts([&] { in_parts = read_vectors(text, width, 7); }) == accepted && in_parts == vectors,
          "in what parts a text comes does not matter");
  if (!accepted) return false;
  std::uint64_t line = 0;
  for (const VectorRead& vector : vectors) {
    promise(vector.line > line, "lines are counted upwards");
    line = vector.line;
    promise(!vector.piece.empty() && vector.piece.find_first_of(" \t\n") == std::string::npos,
            "a piece has a name without separators");
    promise(static_cast<std::int64_t>(vector.values.size()) == width, "a vector has its width");
    promise(std::all_of(vector.values.begin(), vector.values.end(),
                        [](double value) { return std::isfinite(static_cast<float>(value)); }),
            "numbers are finite in fp32");
  }
  return true;
}

inline Target word_vectors_target() {
  return {.name = "word_vectors", .exercise = exercise_word_vectors, .budget = {.bytes_per_byte = 256}};
}

}  // namespace dragoman::fuzz
