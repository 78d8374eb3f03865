#pragma once

#include "scratch.h"
#include "target.h"

#include <algorithm>
#include <string_view>

#include <dragoman/core/file.h>
#include <dragoman/corpus/filters.h>
#include <dragoman/corpus/pair_file.h>

namespace dragoman::fuzz {

/// Reads the bytes behind the first as lines of columns or of JSON, as its lowest bit says, with alignments if the next
/// one does, and judges the pairs. True if each line holds one.
inline bool exercise_pair_lines(std::string_view bytes) {
  if (bytes.empty() || is_packed(bytes.substr(1)) || is_no_text(bytes.substr(1))) return false;
  const auto file = scratch().path() / "pairs";
  put_file(file, bytes.substr(1));
  const bool columns = (bytes[0] & 1) == 0;
  const bool aligned = (bytes[0] & 2) != 0;
  const corpus::PairFile form{.format = columns ? corpus::PairFormat::kTsv : corpus::PairFormat::kJsonl,
                              .source = file.string(),
                              .alignment_column = aligned && columns ? 3U : 0U,
                              .alignment_key = aligned && !columns ? "alignment" : ""};
  corpus::PairFilter filter({.minimum_numbers = 0.5, .drop_urls = true, .drop_markup = true}, {}, {});
  std::uint64_t lines = 0;
  const auto look_at = [&](const corpus::ParsedPair& pair) {
    ++lines;
    for (const std::string* side : {&pair.source, &pair.target, &pair.alignment})
      promise(side->find_first_of(columns ? "\n\t" : "\n\r") == std::string::npos, "a side is a line of its own");
    const double likeness = corpus::likeness_of_numbers(pair.source, pair.target);
    promise(likeness >= 0 && likeness <= 1, "a likeness is from 0 to 1");
    const auto source = filter.source_profile(pair.source);
    const auto target = filter.target_profile(pair.target);
    promise(source.text.longest_word <= source.text.characters && source.text.words <= source.text.characters,
            "words are made of characters");
    filter.judge(pair.source, source, pair.target, target);
  };
  const bool accepted = accepts([&] {
    corpus::PairReader reader(form);
    for (corpus::ParsedPair pair; reader.next(pair);) look_at(pair);
    promise(lines == reader.lines_read(), "each line is a pair");
  });
  // In chunks, where what holds no pair says so and reading goes on.
  std::uint64_t sound = 0, all = 0;
  promise(accepts([&] {
            corpus::PairReader reader(form);
            while (const auto raw = reader.read(64))
              for (std::size_t i = 0; i < raw->size(); ++i, ++all) {
                corpus::ParsedPair pair;
                reader.parser().parse(*raw, i, pair);
                sound += pair.problem.empty() ? 1 : 0;
              }
          }),
          "chunks can be read");
  promise(accepted == (sound == all), "both ways agree on what holds a pair");
  return accepted && all > 0;
}

inline Target pair_lines_target() {
  return {.name = "pair_lines",
          .exercise = exercise_pair_lines,
          // A line of one byte costs a message, which sanitizers slow down more than other code.
          .budget = {.microseconds_per_byte = 6, .bytes_per_byte = 512}};
}

}  // namespace dragoman::fuzz
