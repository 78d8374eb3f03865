#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace dragoman::decoding {

/// The strategy name of minimum Bayes risk. Pipelines implement it, so plugins cannot register the name.
inline constexpr const char* kMbr = "mbr";

enum class MbrUtility : std::uint8_t { kChrf, kBleu };

/// The set of translations that represents the distribution of the model.
enum class MbrCandidates : std::uint8_t {
  kSamples,  ///< samples with equal weights (Eikema & Aziz 2022)
  kBeam,     ///< the results of a beam search, each weighted by its probability (Kumar & Byrne 2004)
};

inline constexpr std::array<std::pair<std::string_view, MbrUtility>, 2> kMbrUtilities = {
    {{"chrf", MbrUtility::kChrf}, {"bleu", MbrUtility::kBleu}}};
inline constexpr std::array<std::pair<std::string_view, MbrCandidates>, 2> kMbrCandidates = {
    {{"samples", MbrCandidates::kSamples}, {"beam", MbrCandidates::kBeam}}};

/// The options of the strategy `mbr`. With it, the sampling and beam options of DecodingOptions apply to the search for
/// candidates, and n_best is the number of translations to return.
struct MbrOptions {
  MbrCandidates candidates = MbrCandidates::kSamples;
  std::int32_t samples = 32;
  MbrUtility utility = MbrUtility::kChrf;
  bool operator==(const MbrOptions&) const = default;
};

/// Returns the name of a value in a table of choices.
template <class Choices, class Value>
std::string name_of_choice(const Choices& choices, Value value) {
  for (const auto& [name, known] : choices)
    if (known == value) return std::string(name);
  return {};
}

}  // namespace dragoman::decoding
