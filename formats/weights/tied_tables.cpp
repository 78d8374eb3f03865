#include "weights/tied_tables.h"

#include <algorithm>

namespace dragoman::imports {

TableTensors find_tables(const ForeignTensors& weights, const TableNames& names, bool tied_output) {
  std::string_view shared = names.shared;
  if (!weights.contains(shared)) {
    const auto other =
        std::ranges::find_if(names.substitutes, [&](std::string_view name) { return weights.contains(name); });
    if (other != names.substitutes.end()) shared = *other;
  }
  const auto own = [&](std::string_view name) { return std::string(weights.contains(name) ? name : shared); };
  TableTensors tables{.encoder = own(names.encoder),
                      .decoder = own(names.decoder),
                      .output = tied_output ? own(names.output) : std::string(names.output)};
  for (const std::string& table : {tables.encoder, tables.decoder, tables.output})
    static_cast<void>(weights.get(table));  // throws if it is missing
  const auto same = [&](const std::string& one, const std::string& other) {
    return one == other || weights.equal(one, other);
  };
  tables.encoder_is_decoder = same(tables.encoder, tables.decoder);
  tables.output_is_decoder = tied_output && same(tables.output, tables.decoder);
  return tables;
}

}  // namespace dragoman::imports
