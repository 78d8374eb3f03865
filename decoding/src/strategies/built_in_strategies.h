#pragma once

#include <dragoman/decoding/strategy.h>

// What makes them, in a file each. They have no options but the common ones.
namespace dragoman::decoding {

std::unique_ptr<SearchStrategy> make_greedy(const DecodingOptions& options);
std::unique_ptr<SearchStrategy> make_beam(const DecodingOptions& options);
/// The beam of several groups.
std::unique_ptr<SearchStrategy> make_diverse_beam(const DecodingOptions& options);
std::unique_ptr<SearchStrategy> make_sampling(const DecodingOptions& options);

}  // namespace dragoman::decoding
