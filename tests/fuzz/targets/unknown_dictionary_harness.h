#pragma once

#include "scratch.h"
#include "target.h"

#include <string_view>

#include <dragoman/pipeline/unknown_dictionary.h>

namespace dragoman::fuzz {

inline bool exercise_unknown_dictionary(std::string_view bytes) {
  if (is_packed(bytes)) return false;
  const std::filesystem::path path = scratch() / "unknown.tsv";
  put_file(path, bytes);
  return accepts([&] {
    const auto dictionary = pipeline::UnknownDictionary::read(path);
    promise(dictionary.look_up("no\tword") == "no\tword", "what is not there stays");
    promise(dictionary.look_up("Hund").find('\t') == std::string_view::npos, "a translation is one field");
  });
}

inline Target unknown_dictionary_target() {
  return {.name = "unknown_dictionary", .exercise = exercise_unknown_dictionary};
}

}  // namespace dragoman::fuzz
