#pragma once

#include <cstdint>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/decoding/options.h>

namespace dragoman::decoding {

// A model may say how it is best searched: an object of settings, keys and values of option_table(). What it does not
// say is as the program has it; what a user says goes before both.

/// The key that says that the model has a shortlist of its own, and the file of the folder, which is all that it may
/// name: decoding::Shortlist in its binary form.
inline constexpr const char* kShortlistKey = "shortlist";
inline constexpr const char* kShortlistFile = "shortlist.bin";

/// The largest beam that a folder, which may come from a stranger, asks for.
inline constexpr std::int32_t kMostHypothesesOfFolder = 128;

/// What they come to if nobody says anything else. Error{kBadInput} naming `where` and the key, for what is no option,
/// makes no sense, or is not a model's to say (n_best, alignment: what is returned).
DecodingOptions read_model_defaults(const core::Json& settings, const std::string& where);

/// A user's settings, and for each option of option_table() that they do not say what the model's defaults say, else
/// the program's. A length penalty that the user names comes with its own alpha. Other keys stay as they are.
core::Json complete_settings(core::Json said, const core::Json& model_defaults);

}  // namespace dragoman::decoding
