#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// The meaning of a key that occurs more than once in an object. Every reader of JSON follows one of these two rules.
enum class EqualKeys {
  /// A problem, with the key and its place: in JSON lines, configurations and records, one of the values would be lost.
  kRefused,
  /// The last value counts, at the place of the first: for files of other programs, whose libraries (Python's json,
  /// serde_json, nlohmann-json) read them this way.
  kLastCounts,
};

/// What a text says, or why it says nothing.
struct ParsedJson {
  Json tree;
  std::string problem = {};  ///< as it may be shown to people; empty if there is none
  std::size_t position = 0;  ///< of the problem, in bytes from 0
};

/// Parses JSON text of up to 100 levels in n log n time (the library's own parser looks each key up among all before
/// it).
ParsedJson try_parse_json(std::string_view text, EqualKeys equal_keys = EqualKeys::kRefused);
/// The same; a problem is an Error{kBadInput} that names `name`, line and column.
Json parse_json(std::string_view text, const std::string& name, EqualKeys equal_keys = EqualKeys::kRefused);
/// Reads and parses a JSON file of at most 256 MiB, which must be a regular file.
Json load_json(const std::string& path, EqualKeys equal_keys = EqualKeys::kRefused);

/// "not valid JSON: syntax error while parsing ...": what an error of the library's parser says, without its code and
/// its place, as it may be shown to people.
std::string syntax_problem(const nlohmann::json::exception& error);

/// As JSON text on one line. Bytes that are not UTF-8, as paths may hold, become U+FFFD.
std::string one_line(const Json& value);

/// "beam_size was 4 and is now 5; ..." for each key of two objects whose value differs, as it may be shown to people.
std::string differences(const Json& before, const Json& now);

}  // namespace dragoman::core
