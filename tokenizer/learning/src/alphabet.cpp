#include "learning/alphabet.h"

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

void check_coverage(double coverage) {
  core::require(coverage > 0 && coverage <= 1, core::ErrorCode::kInvalidArgument,
                "the character coverage is {}; it must be above 0 and at most 1", coverage);
}

std::vector<char32_t> choose_alphabet(const std::vector<CharacterCount>& counts, double coverage,
                                      std::optional<char32_t> always) {
  std::uint64_t total = 0;
  for (const CharacterCount& entry : counts) total += entry.count;
  const double wanted = coverage * static_cast<double>(total);
  std::uint64_t covered = 0;
  std::vector<char32_t> alphabet;
  for (const CharacterCount& entry : counts) {
    if (entry.character == always || static_cast<double>(covered) < wanted) alphabet.push_back(entry.character);
    covered += entry.count;
  }
  return alphabet;
}

}  // namespace dragoman::tokenizer
