#include "dragoman/pipeline_api/record.h"

namespace dragoman::pipeline {
namespace {

/// Of a value and what is in it. Nesting is bounded where records are read.
std::size_t weight_of(const core::Json& value) {
  constexpr std::size_t kNode = 48;  // a value with its place in an array or object, or a string's own header
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
