#pragma once

#include <cstdint>
#include <string>

#include <dragoman/core/json_fwd.h>
#include <dragoman/decoding/search.h>

namespace dragoman::decoding {

// A model folder may contain search defaults for its model: an object with keys and values of search_table(). The
// user's settings take precedence over them, and they take precedence over the program's defaults.

/// The key which declares that the model folder has a shortlist. Its only valid value is the name of the shortlist's
/// file in the folder, a decoding::Shortlist in binary form.
inline constexpr const char* kShortlistKey = "shortlist";
inline constexpr const char* kShortlistFile = "shortlist.bin";

/// The largest beam that a model folder may set. A folder may come from an untrusted source.
inline constexpr std::int32_t kMaxHypothesesOfFolder = 128;

/// Reads the search defaults of a model folder. Error{kBadInput} names `where` and the key if a key is not an option,
/// if its value is invalid, or if a model must not set it (n_best and alignment, which decide what a search returns).
///
///     const core::Json settings{{"beam_size", 6}, {"alpha", 0.6}};
///     const Search defaults = read_model_defaults(settings, "config.json: decoding");
Search read_model_defaults(const core::Json& settings, const std::string& where);

}  // namespace dragoman::decoding
