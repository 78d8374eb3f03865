#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <dragoman/decoding/length_penalty.h>
#include <dragoman/decoding/mbr_options.h>
#include <dragoman/decoding/search.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::decoding {

struct SamplingOptions {
  double temperature = 1;
  /// Draw from the most probable tokens only; 0: from all.
  std::int32_t top_k = 0;
  /// Draw from the smallest set of most probable tokens whose probabilities sum to at least this (Holtzman et al.
  /// 2020); 1: no such cut. Without top_k the set has at most kNucleusLimit tokens.
  double top_p = 1;
  std::uint64_t seed = 1;
  bool operator==(const SamplingOptions&) const = default;
};
inline constexpr std::int32_t kNucleusLimit = 1024;

/// The options of a search as its strategy sees them: every one has a value. resolve() makes them of what was said; the
/// values here are the program's defaults, which search_table() shows. Lengths count tokens without the closing end, of
/// source and target alike.
struct DecodingOptions {
  /// "beam", "greedy", "sampling", or what a plugin registered.
  std::string strategy = "beam";
  std::int32_t beam_size = 4;
  /// Hypotheses to return: at most beam_size with beam, 1 with greedy, any number of independent samples with sampling.
  std::int32_t n_best = 1;
  /// The default divides by the length, the end included: of the presets it is the one whose beam loses least at larger
  /// sizes without a tuned parameter.
  LengthPenalty length_penalty{};
  /// beta of beta * sum_j log(min(sum_i attention_ij, 1)), added to the score (Wu et al. 2016, eq. 14; sums below 1e-9
  /// count as 1e-9). Needs a model with an alignment.
  double coverage_penalty = 0;
  /// The stop rule waits for beam_size * patience ended hypotheses (Kasai et al. 2022).
  double patience = 1;
  /// Diverse beam search (Vijayakumar et al. 2016): the beam is divided into so many groups, which choose one after the
  /// other; in each step a group scores a token diversity_strength less for each time that earlier groups have chosen
  /// it in that step (Hamming diversity). Scores of results are the model's own. Each group gives its share of n_best,
  /// and no translation is given twice. 1: beam search.
  std::int32_t beam_groups = 1;
  double diversity_strength = 0.5;

  /// The shortest target is minimum_length, or minimum_length_factor * source if that is more; never more than the
  /// longest that is allowed.
  std::int32_t minimum_length = 0;
  double minimum_length_factor = 0;
  /// The longest target is maximum_length_factor * source + maximum_length_offset, or maximum_length if that is not 0;
  /// never more than the model takes. A hypothesis that reaches it without choosing to end there is cut: stopped_by
  /// says so.
  double maximum_length_factor = 2;
  std::int32_t maximum_length_offset = 10;
  std::int32_t maximum_length = 0;

  /// Logits of tokens in the hypothesis are divided (if positive) or multiplied (if negative) by this (Keskar et al.
  /// 2019).
  double repetition_penalty = 1;
  /// No sequence of so many tokens twice in a hypothesis; 0: off.
  std::int32_t no_repeat_ngram = 0;
  /// Token sequences (often of length 1) that no hypothesis may contain.
  std::vector<std::vector<std::int32_t>> suppressed{};
  bool suppress_unknown = false;
  /// So many tokens at the beginning of a target prefix are tags, of a language, say, which nobody chose: they count in
  /// lengths, and their log probability as 0.
  std::int32_t given_tokens = 0;

  SamplingOptions sampling{};
  MbrOptions mbr{};

  /// Return the attention of every target token to the source.
  bool want_alignment = false;
  /// The caller will replace unknown tokens by the source word that they attend to most: keeps alignments.
  bool replace_unknown = false;

  bool operator==(const DecodingOptions&) const = default;
};

/// Merges settings of a search, in order of precedence: each option has the value of the first set that contains it,
/// else that of `program`. A set that names a length penalty also decides its alpha: the set's own, else the default of
/// the penalty. An alpha without a penalty applies to the penalty of the next set that names one.
/// Error{kInvalidArgument} as check().
DecodingOptions resolve(std::initializer_list<const Search*> said, const DecodingOptions& program = {});
/// Returns `said`, with options that it leaves unset taken from `behind`.
Search merged(Search said, const Search& behind);

/// Returns all options as set values, except for options that have no key.
Search search_of(const DecodingOptions& options);

/// Error{kInvalidArgument} naming the option and its value, where it makes no sense: for any model, or for models of
/// this spec.
void check(const DecodingOptions& options);
void check(const DecodingOptions& options, const nn::SequenceSpec& spec);

/// Error{kInvalidArgument} naming an option that differs from `usual` although the built-in search that
/// options.strategy names never looks at it. check() lets it pass: programs may keep one set for several searches.
void require_all_used(const DecodingOptions& options, const DecodingOptions& usual = {});

/// The longest target, without its end, for a source of `source_length` tokens without its end.
std::int32_t maximum_target_length(const DecodingOptions& options, const nn::SequenceSpec& spec,
                                   std::int32_t source_length);

/// The fewest tokens without the end for that source; it may be more than the longest target.
std::int32_t minimum_target_length(const DecodingOptions& options, std::int32_t source_length);

/// Whether the search itself or its caller needs attention weights.
bool needs_alignment(const DecodingOptions& options);

}  // namespace dragoman::decoding
