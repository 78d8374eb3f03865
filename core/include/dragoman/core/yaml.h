#pragma once

#include <string>
#include <string_view>

#include <dragoman/core/options.h>

namespace dragoman::core {

/// YAML as a Json tree: an unquoted scalar becomes null, boolean, integer or number where it reads as one (YAML 1.2
/// core schema), else a text. Duplicate keys, aliases that nest too deep and documents over 16 MiB are errors that name
/// `name` and the line.
Json parse_yaml(std::string_view text, const std::string& name);
Json load_yaml(const std::string& path);

/// Applies "a.b.c=value" to the tree; the value is read as YAML, so numbers, lists and quoted texts work as in the
/// file. The path need not exist yet; an element of a list is named by its index.
void set_option(Json& tree, std::string_view assignment);

/// The tree as YAML text.
std::string dump_yaml(const Json& tree);

}  // namespace dragoman::core
