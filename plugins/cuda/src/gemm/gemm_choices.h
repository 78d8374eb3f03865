#pragma once

#include "gemm_library.h"

#include <filesystem>
#include <map>
#include <span>
#include <string_view>

namespace dragoman::backend::cuda {

/// Which algorithms to take for products whose rows have bits that depend neither on the other rows nor on how many
/// they are. The shape has no rows and no strides.
struct GemmQuestion {
  GemmShape shape;
  auto operator<=>(const GemmQuestion&) const = default;
};

/// For each of the question's buckets the number of the candidate; empty: no algorithm of the library will do.
using GemmAnswer = std::vector<int>;
using GemmAnswers = std::map<GemmQuestion, GemmAnswer>;

/// Answers as a file keeps them, a line each behind a line that names library and device.
std::string format_answers(const GemmAnswers& answers, std::string_view identity);
/// The opposite. Whatever is not such a file of the same identity, or a line of it, is left out: answers only cost the
/// time to find them again. Takes bytes from anywhere.
GemmAnswers parse_answers(std::string_view text, std::string_view identity);

/// The file for answers of this identity.
std::filesystem::path answers_file(const std::filesystem::path& folder, std::string_view identity);

}  // namespace dragoman::backend::cuda
