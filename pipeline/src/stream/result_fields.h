#pragma once

#include <string>
#include <utility>

#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {

/// The field for input keys that have the name of a result.
inline constexpr const char* kInputField = "input";

/// Sets a result of a stage. A previous value of that name, from the input or an earlier stage, moves to the object
/// `input`, unless that already has the key: results are never overwritten and never overwrite.
inline void set_result(Record& record, const std::string& key, core::Json value) {
  core::Json& fields = record.fields;
  const auto found = fields.find(key);
  if (found == fields.end()) {
    fields[key] = std::move(value);
    return;
  }
  core::Json before = std::exchange(*found, std::move(value));
  core::Json& input = fields[kInputField];
  if (!input.is_object()) input = core::Json::object();
  if (!input.contains(key)) input[key] = std::move(before);
}

}  // namespace dragoman::pipeline
