#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dragoman::server::http {

/// The decoded target of a request line.
struct Target {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
  std::string problem;  ///< why the target is refused; empty if it is not
};

/// Decodes a target in origin form ("/a?b=c") or absolute form ("http://host/a"). `*`, which OPTIONS may have, is "/".
Target parse_target(std::string_view text);

/// Appends the decoded names and values of `a=b&c=d` ("+" is a space). Returns false if an escape is malformed or the
/// text is not UTF-8.
bool parse_pairs(std::string_view text, std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace dragoman::server::http
