#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dragoman::decoding {

/// The settings of a search from one source, each option under its key: a command line, YAML, a JSON line, a model
/// folder or C++. A source may leave options unset. In order of precedence the sources are a record, a request, the
/// translator's options, the model folder and the program. resolve() merges them.
///
///     const Search search{.beam_size = 5, .n_best = 3};
///
/// search_table() has a row for each member, with its range, default and help; DecodingOptions explains what each does.
struct Search {
  std::optional<std::string> decoder{};  ///< "beam", "greedy", "sampling", "mbr", or the name of a plugin's strategy
  std::optional<std::int32_t> beam_size{};
  std::optional<std::int32_t> n_best{};
  std::optional<std::string> length_penalty{};  ///< a preset: see LengthPenalty
  std::optional<double> alpha{};                ///< of the length penalty
  std::optional<double> coverage_penalty{};
  std::optional<double> patience{};
  std::optional<std::int32_t> beam_groups{};
  std::optional<double> diversity_strength{};
  std::optional<std::int32_t> minimum_length{};
  std::optional<double> minimum_length_factor{};
  std::optional<std::int32_t> maximum_length{};
  std::optional<double> maximum_length_factor{};
  std::optional<std::int32_t> maximum_length_offset{};
  std::optional<double> repetition_penalty{};
  std::optional<std::int32_t> no_repeat_ngram{};
  std::optional<std::vector<std::vector<std::int32_t>>> suppress_tokens{};
  std::optional<bool> suppress_unknown{};
  std::optional<bool> replace_unknown{};
  std::optional<bool> alignment{};
  std::optional<double> temperature{};
  std::optional<std::int32_t> top_k{};
  std::optional<double> top_p{};
  std::optional<std::uint64_t> seed{};
  std::optional<std::string> mbr_candidates{};  ///< "samples" or "beam"
  std::optional<std::int32_t> mbr_samples{};
  std::optional<std::string> mbr_utility{};  ///< "chrf" or "bleu"
  std::optional<std::string> prefix_role{};  ///< "scored", "given" or "context"
  std::optional<bool> cut_at_maximum{};
  std::optional<std::vector<std::int32_t>> end_tokens{};

  bool operator==(const Search&) const = default;
};

}  // namespace dragoman::decoding
