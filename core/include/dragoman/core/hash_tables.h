#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <dragoman/core/hash.h>

namespace dragoman::core {

// Hash tables for keys from files and strangers. std::hash has no seed, and maps an integer to itself, so an attacker
// can choose keys that all collide. The order of the entries differs from process to process.

/// A map from texts, which are found by any string type without a copy.
///
///     TextMap<int> counts;
///     ++counts["Haus"];
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;
using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

/// Tables of texts that are stored elsewhere and outlive the table.
template <class Value>
using TextViewMap = std::unordered_map<std::string_view, Value, TextHash, std::equal_to<>>;
using TextViewSet = std::unordered_set<std::string_view, TextHash, std::equal_to<>>;

template <class Integer, class Value>
using IntegerMap = std::unordered_map<Integer, Value, IntegerHash>;

template <class Integer>
using IntegerSet = std::unordered_set<Integer, IntegerHash>;

}  // namespace dragoman::core
