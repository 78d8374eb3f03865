#pragma once

#include "pipeline/glossary.h"
#include "scratch.h"
#include "target.h"
#include "translation/target_terms.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <dragoman/core/json.h>
#include <dragoman/pipeline/record_io.h>

namespace dragoman::fuzz {

/// Reads the bytes as texts to suppress.
inline void read_as_suppressed(const std::filesystem::path& path) {
  accepts([&] {
    for (const std::string& text : pipeline::read_suppress_file(path))
      promise(text.find_first_not_of(" \t\r") != std::string::npos, "no text is blank");
  });
}

/// Reads the bytes as lines and as their prefixes.
inline void read_as_prefixes(const std::filesystem::path& path) {
  accepts([&] {
    pipeline::RecordReader reader({.path = path, .target_prefix_path = path});
    while (const auto record = reader.next()) {
      const auto prefix = record->fields.find("target_prefix");
      promise((prefix == record->fields.end()) == record->text.empty(), "an empty line is no prefix");
      promise(record->text.empty() || *prefix == record->text, "a prefix is cleaned as a line is");
    }
  });
}

/// Reads the bytes as each of them and as a glossary and looks for its terms in its own first lines.
inline bool exercise_glossary(std::string_view bytes) {
  if (is_packed(bytes)) return false;
  put_file(scratch() / "glossary", bytes);
  read_as_suppressed(scratch() / "glossary");
  read_as_prefixes(scratch() / "glossary");
  return accepts([&] {
    const pipeline::Glossary glossary = pipeline::Glossary::read(scratch() / "glossary");
    for (const pipeline::GlossaryEntry& entry : glossary.entries()) {
      promise(!entry.source.empty() && !entry.targets.empty(), "an entry has terms");
      promise(std::ranges::none_of(entry.targets, &std::string::empty), "no term is empty");
    }
    const std::size_t looked_at = std::min<std::size_t>(glossary.entries().size(), 20);
    for (std::size_t i = 0; i < looked_at; ++i) {
      const auto found = glossary.find(glossary.entries()[i].source);
      promise(!found.empty(), "a term is found in itself");
      promise(std::ranges::all_of(found, [&](std::size_t e) { return e < glossary.entries().size(); }),
              "what is found is an entry");
    }
  });
}

inline Target glossary_target() {
  return {.name = "glossary",
          .exercise = exercise_glossary,
          .budget = {.microseconds_per_byte = 60, .bytes_per_byte = 1024}};
}

}  // namespace dragoman::fuzz
