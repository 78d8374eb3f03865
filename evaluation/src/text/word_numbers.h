#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <dragoman/core/hash_tables.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::evaluation {

/// Gives equal words equal numbers. The words must outlive the object.
class WordNumbers {
 public:
  std::vector<std::uint32_t> operator()(const std::vector<std::string_view>& words) {
    std::vector<std::uint32_t> numbers;
    numbers.reserve(words.size());
    core::StopCheck check("counting words");
    for (const std::string_view word : words) {
      check(20);
      numbers.push_back(known_.try_emplace(word, static_cast<std::uint32_t>(known_.size())).first->second);
    }
    return numbers;
  }

 private:
  core::TextViewMap<std::uint32_t> known_;
};

}  // namespace dragoman::evaluation
