#pragma once

#include <string>
#include <string_view>

#include <dragoman/core/options.h>

namespace dragoman::pipeline {

/// A JSON object from outside, or why it is none.
struct JsonLine {
  core::Json object;  ///< null if there is an error
  std::string error;
};

/// Parses a line that should be a JSON object. The time is that of sorting its keys, whatever it holds (the parser of
/// the library looks each key up among all before it); what is nested deeper than 100 levels is refused, since printing
/// and destroying a tree recurse. Of a key that stands twice in an object the last value counts, in the place of the
/// first.
JsonLine parse_json_line(std::string_view text);

}  // namespace dragoman::pipeline
