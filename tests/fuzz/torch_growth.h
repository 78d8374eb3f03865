#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dragoman::fuzz {

// Growths of files of torch: see FormatGrowth::make.

std::string tensors_of_one_storage(std::string_view seed, std::size_t size);
std::string references_to_one_text(std::string_view seed, std::size_t size);
std::string pairs_of_pairs(std::string_view seed, std::size_t size);
/// Values that are remembered under multiples of a number.
std::string remembered_values(std::size_t count, std::uint64_t factor);
std::string nested_lists(std::string_view seed, std::size_t size);
std::string many_keys(std::string_view seed, std::size_t size);
std::string many_storages(std::string_view seed, std::size_t size);
std::string settings_of_one_text(std::string_view seed, std::size_t size);
std::string weights_of_one_storage(std::string_view seed, std::size_t size);

}  // namespace dragoman::fuzz
