#include "dragoman/decoding/model_defaults.h"

#include "dragoman/decoding/option_table.h"
#include "dragoman/decoding/options.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/options.h>

namespace dragoman::decoding {

Search read_model_defaults(const core::Json& settings, const std::string& where) {
  core::OptionReader reader(settings, where);
  for (const char* key : {"n_best", "alignment"})
    reader.check(!reader.has(key), key, "is set by the caller, not by the model; remove it from the folder");
  reader.check(!reader.has(kShortlistKey) || reader.get(kShortlistKey, std::string()) == kShortlistFile, kShortlistKey,
               std::string("must be ") + kShortlistFile + ", the only one that a model folder may contain");
  Search search;
  search_table().read(reader, search);
  reader.finish();
  reader.check(search.beam_size.value_or(1) <= kMaxHypothesesOfFolder, "beam_size",
               fmt::format("may be at most {} in a model folder; the caller may set more", kMaxHypothesesOfFolder));
  try {
    require_all_used(resolve({&search}));
  } catch (const core::Error& error) {
    core::fail_within(where, error, core::ErrorCode::kBadInput);
  }
  return search;
}

}  // namespace dragoman::decoding
