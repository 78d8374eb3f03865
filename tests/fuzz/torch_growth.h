#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace dragoman::fuzz {

/// The first of several files in a seed, and the others with the mark in front of them.
struct SplitSeed {
  std::string_view first;
  std::string_view rest;
};
SplitSeed split_files(std::string_view seed);

/// Parts for growing numbers, as many as fit into the size.
std::string parts(std::size_t size, const std::function<std::string(std::size_t number)>& part);

// Growths of files of torch: see FormatGrowth::make.

std::string tensors_of_one_storage(std::string_view seed, std::size_t size);
std::string references_to_one_text(std::string_view seed, std::size_t size);
std::string pairs_of_pairs(std::string_view seed, std::size_t size);
std::string nested_lists(std::string_view seed, std::size_t size);
std::string many_keys(std::string_view seed, std::size_t size);
std::string many_storages(std::string_view seed, std::size_t size);
std::string files_of_shared_bytes(std::string_view seed, std::size_t size);
std::string settings_of_one_text(std::string_view seed, std::size_t size);
std::string weights_of_one_storage(std::string_view seed, std::size_t size);

}  // namespace dragoman::fuzz
