#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// Parses YAML into a Json tree. An unquoted scalar becomes null, a boolean, an integer or a number if the YAML 1.2
/// core schema reads it as one, and a string otherwise. Takes O(n log n) time.
///
/// Errors name `name` and the line. These are errors: duplicate keys, more than 64 nesting levels, documents over 16
/// MiB or of more than 2^18 values (an alias counts as the values it stands for).
///
///     Json config = parse_yaml("training: {updates: 1000}", "train.yml");
///     set_option(config, "training.updates=2000");
///     std::cout << dump_yaml(config);
///
/// The result owns its text. The functions of this header are thread-safe.
Json parse_yaml(std::string_view text, const std::string& name);
/// Parses a YAML file, a pipe or (as "-") standard input. A stop request ends the wait for the latter two.
Json load_yaml(const std::string& path, const std::stop_token& stop = {});

/// Applies the assignment "a.b.c=value" to the tree. The value is parsed as YAML, so numbers, lists and quoted strings
/// work as in the file. The path need not exist yet. An element of a list is named by its index. Messages begin with
/// `option` and the assignment.
void set_option(Json& tree, std::string_view assignment, std::string_view option = {});
/// Returns the tree that the assignment produces from an empty object, for Option::parse.
Json parse_assignment(std::string_view assignment);

/// Returns the tree as YAML text.
std::string dump_yaml(const Json& tree);

}  // namespace dragoman::core
