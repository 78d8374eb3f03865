#pragma once

#include "gemm/gemm_choices.h"
#include "target.h"

#include <string>
#include <string_view>

namespace dragoman::fuzz {

/// Reads the bytes as the answers about products of the library that they name.
inline bool exercise_gemm_answers(std::string_view bytes) {
  constexpr std::string_view kHeader = "dragoman products 3 ";
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const std::string identity(line.starts_with(kHeader) ? line.substr(kHeader.size()) : line);
  const backend::cuda::GemmAnswers answers = backend::cuda::parse_answers(bytes, identity);
  promise(backend::cuda::parse_answers(backend::cuda::format_answers(answers, identity), identity) == answers,
          "what is written is read");
  promise(answers.empty() || backend::cuda::parse_answers(bytes, identity + "x").empty(),
          "others' answers are left out");
  return !answers.empty();
}

inline Target gemm_answers_target() {
  return {.name = "gemm_answers",
          .exercise = exercise_gemm_answers,
          .budget = {.microseconds_per_byte = 10, .bytes_per_byte = 1024}};
}

}  // namespace dragoman::fuzz
