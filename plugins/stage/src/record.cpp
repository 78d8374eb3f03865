#include "dragoman/pipeline_api/record.h"

namespace dragoman::pipeline {
namespace {

/// Returns the weight of a value and everything in it. The recursion is safe, because records are read with bounded
/// nesting.
std::size_t weight_of(const core::Json& value) {
  constexpr std::size_t kNode = 48;  // a value with its place in an array or object, or the header of a string
  std::size_t weight = kNode;
  if (const auto* text = value.get_ptr<const std::string*>()) return weight + text->size();
  if (value.is_object())
    for (const auto& [key, member] : value.items()) weight += kNode + key.size() + weight_of(member);
  if (value.is_array())
    for (const core::Json& element : value) weight += weight_of(element);
  return weight;
}

}  // namespace

std::size_t Record::weight() const {
  return sizeof(Record) + text.size() + message.size() + sentences.size() * sizeof(TextRange) + weight_of(fields);
}

}  // namespace dragoman::pipeline
