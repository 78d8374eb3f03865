#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// YAML as a Json tree: an unquoted scalar becomes null, boolean, integer or number where it reads as one (YAML 1.2
/// core schema), else a text. Duplicate keys, nesting deeper than 64 levels, documents over 16 MiB or of more than 2^18
/// values (aliases count as what they stand for) are errors that name `name` and the line. Takes n log n time.
Json parse_yaml(std::string_view text, const std::string& name);
/// The same for a file, a pipe or (as "-") standard input: a stop request ends the wait for them.
Json load_yaml(const std::string& path, const std::stop_token& stop = {});

/// Applies "a.b.c=value" to the tree; the value is read as YAML, so numbers, lists and quoted texts work as in the
/// file. The path need not exist yet; an element of a list is named by its index. Messages begin with `option` and
/// the assignment.
void set_option(Json& tree, std::string_view assignment, std::string_view option = {});
/// What the assignment makes of an empty object, for Option::parse.
Json parse_assignment(std::string_view assignment);

/// The tree as YAML text.
std::string dump_yaml(const Json& tree);

}  // namespace dragoman::core
