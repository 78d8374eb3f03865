#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <dragoman/core/hash.h>

namespace dragoman::core {

// Hash tables for keys that come from files or from strangers. std::hash is the same in every process, and that of an
// integer is the integer: whoever chooses the keys can make each of them collide with all others. The order of the
// entries differs from process to process.

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
