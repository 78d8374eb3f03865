#pragma once

#include <string>
#include <string_view>

#include <dragoman/evaluation/ter.h>

namespace dragoman::evaluation {

/// Returns the segment after Tercom's normalisation, with whitespace between its words.
std::string separate_ter_words(std::string_view segment, const TerOptions& options);

}  // namespace dragoman::evaluation
