#pragma once

#include <string>

#include <dragoman/core/json.h>
#include <dragoman/core/option_table.h>
#include <dragoman/core/options.h>

namespace dragoman::python {

/// Reads the keywords of a function, which are a JSON object as text or "", by the library's table. Error{kBadInput}
/// that names the key for an unknown one, a wrong type, and a value out of range.
template <class Options>
Options read_options(const core::OptionTable<Options>& table, const std::string& json) {
  Options options;
  if (json.empty()) return options;
  const core::Json tree = core::parse_json(json, "options");
  core::OptionReader reader(tree, "options");
  table.read(reader, options);
  reader.finish();
  return options;
}

}  // namespace dragoman::python
