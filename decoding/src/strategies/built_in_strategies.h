#pragma once

#include <dragoman/decoding/strategy.h>

// The factories of the built-in strategies, one per file. They have no options besides the common ones.
namespace dragoman::decoding {

std::unique_ptr<SearchStrategy> make_greedy(const DecodingOptions& options);
std::unique_ptr<SearchStrategy> make_beam(const DecodingOptions& options);
/// Beam search with several groups.
std::unique_ptr<SearchStrategy> make_diverse_beam(const DecodingOptions& options);
std::unique_ptr<SearchStrategy> make_sampling(const DecodingOptions& options);

}  // namespace dragoman::decoding
