#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dragoman::imports {

/// The fixed lists of languages of some models. Their vocabularies contain only pieces of text. The languages have the
/// ids after those, in an order that was fixed when the models were published.
enum class LanguageCodes : std::uint8_t {
  kMBart25,  ///< Liu et al. 2020
  kMBart50,  ///< Tang et al. 2020
  kM2M100,   ///< Fan et al. 2020; the pieces are "__af__", ...
};

std::span<const std::string_view> language_codes(LanguageCodes which);

}  // namespace dragoman::imports
