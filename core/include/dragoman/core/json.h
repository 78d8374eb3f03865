#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// Specifies how a key that occurs more than once in an object is treated. Every reader of JSON follows one of these
/// rules.
enum class EqualKeys {
  /// A duplicate key is a problem, reported with the key and its place. For JSON lines, configurations and records,
  /// where one of the values would be lost.
  kRefused,
  /// The last value counts, at the position of the first. For files of other programs, whose libraries (Python's json,
  /// serde_json, nlohmann-json) read them this way.
  kLastCounts,
};

/// The result of try_parse_json(): a tree, or a problem.
struct ParsedJson {
  Json tree;
  std::string problem = {};  ///< safe to print; empty if there is none
  std::size_t position = 0;  ///< of the problem, in bytes from 0
};

/// Parses JSON text of at most 100 nesting levels. Takes O(n log n) time; the library's own parser is quadratic in the
/// number of keys of an object.
ParsedJson try_parse_json(std::string_view text, EqualKeys equal_keys = EqualKeys::kRefused);
/// Like try_parse_json(), but throws Error{kBadInput} with `name`, line and column if there is a problem.
Json parse_json(std::string_view text, const std::string& name, EqualKeys equal_keys = EqualKeys::kRefused);
/// Reads and parses a JSON file, which must be a regular file of at most 256 MiB. Throws Error{kIo or kBadInput}.
///
///     const Json config = load_json("models/de-en/config.json");
///     const std::string type = config.value("model_type", "transformer");
Json load_json(const std::string& path, EqualKeys equal_keys = EqualKeys::kRefused);

/// Returns the message of a parser error of the library, without its code and position, safe to print: "not valid JSON:
/// syntax error while parsing ...".
std::string syntax_problem(const nlohmann::json::exception& error);

/// Returns the value as JSON text on one line. Bytes that are not UTF-8, which paths may contain, become U+FFFD.
std::string one_line(const Json& value);

/// Describes each key whose value differs between two objects: "beam_size was 4 and is now 5; ...". The text is safe to
/// print.
std::string differences(const Json& before, const Json& now);

}  // namespace dragoman::core
