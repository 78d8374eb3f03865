#include "dragoman/decoding/model_defaults.h"

#include "dragoman/decoding/option_table.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/options.h>

namespace dragoman::decoding {

DecodingOptions read_model_defaults(const core::Json& settings, const std::string& where) {
  core::OptionReader reader(settings, where);
  for (const char* key : {"n_best", "alignment"})
    reader.check(!reader.has(key), key,
                 "is for whoever translates to say, and not for the model; take it out of the folder");
  reader.check(!reader.has(kShortlistKey) || reader.get(kShortlistKey, std::string()) == kShortlistFile, kShortlistKey,
               std::string("must be ") + kShortlistFile + ", which is the one that a model's folder may hold");
  DecodingOptions options;
  option_table().read(reader, options);
  reader.finish();
  reader.check(
      options.beam_size <= kMostHypothesesOfFolder, "beam_size",
      fmt::format("may be at most {} in a model's folder; whoever translates may say more", kMostHypothesesOfFolder));
  try {
    check(options);
    require_all_used(options);
  } catch (const core::Error& error) {
    core::fail(core::ErrorCode::kBadInput, "{}: {}", where, error.what());
  }
  return options;
}

core::Json complete_settings(core::Json said, const core::Json& model_defaults) {
  const bool own_penalty = said.contains("length_penalty");
  for (const core::Option& option : option_table().options()) {
    if (said.contains(option.name) || (own_penalty && option.name == "alpha")) continue;
    if (const auto found = model_defaults.find(option.name); found != model_defaults.end())
      said[option.name] = *found;
    else if (!option.fallback.is_null())
      said[option.name] = option.fallback;
  }
  return said;
}

}  // namespace dragoman::decoding
