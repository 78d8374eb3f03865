#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/decoding/length_penalty.h>
#include <dragoman/decoding/mbr_options.h>
#include <dragoman/decoding/search.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::decoding {

struct SamplingOptions {
  double temperature = 1;
  /// Draw from this number of most probable tokens. 0: draw from all tokens.
  std::int32_t top_k = 0;
  /// Draw from the smallest set of most probable tokens whose probabilities sum to at least this value (Holtzman et al.
  /// 2020). 1: no limit. Without top_k, the set has at most kNucleusLimit tokens.
  double top_p = 1;
  std::uint64_t seed = 1;
  bool operator==(const SamplingOptions&) const = default;
};
inline constexpr std::int32_t kNucleusLimit = 1024;

/// How the target prefix of a sentence counts in the scores of its hypotheses.
enum class PrefixRole : std::uint8_t {
  kScored,  ///< its log probabilities and its tokens count, like all others
  kGiven,  ///< its log probabilities count as 0, but its tokens count towards lengths. In the first step after it, only
           ///< the best candidate may be an end (CTranslate2)
  kContext,  ///< neither counts: the translation begins after it
};

inline constexpr std::array<std::pair<std::string_view, PrefixRole>, 3> kPrefixRoles = {
    {{"scored", PrefixRole::kScored}, {"given", PrefixRole::kGiven}, {"context", PrefixRole::kContext}}};

/// The resolved options of a search, which strategies see: every option has a value. resolve() computes them from the
/// settings of all sources. The initial values here are the program's defaults, which search_table() shows. Lengths
/// count tokens without the closing end, for source and target.
struct DecodingOptions {
  /// "beam", "greedy", "sampling", or the name of a registered strategy.
  std::string strategy = "beam";
  std::int32_t beam_size = 4;
  /// The number of hypotheses to return: with beam at most beam_size, or beam_size * patience if that is larger; 1 with
  /// greedy; any number of independent samples with sampling.
  std::int32_t n_best = 1;
  /// The default divides by the length, including the end. Of the presets without a tuned parameter, it loses least
  /// quality at larger beam sizes.
  LengthPenalty length_penalty{};
  /// beta of beta * sum_j log(min(sum_i attention_ij, 1)), which is added to the score (Wu et al. 2016, eq. 14). Sums
  /// below 1e-9 count as 1e-9. Requires a model with an alignment.
  double coverage_penalty = 0;
  /// The stop rule waits for beam_size * patience ended hypotheses (Kasai et al. 2022).
  double patience = 1;
  /// Diverse beam search (Vijayakumar et al. 2016). The beam is divided into beam_groups groups, which choose one after
  /// the other in each step. The score of a token is reduced by diversity_strength for each time that an earlier group
  /// has chosen it in the step (Hamming diversity). Scores of results exclude this term. Each group contributes its
  /// share of n_best, and no translation is returned twice. 1: ordinary beam search.
  std::int32_t beam_groups = 1;
  double diversity_strength = 0.5;

  /// The shortest target is the larger of minimum_length and minimum_length_factor * source, but never more than the
  /// longest allowed target.
  std::int32_t minimum_length = 0;
  double minimum_length_factor = 0;
  /// The longest target is maximum_length if that is not 0, otherwise maximum_length_factor * source +
  /// maximum_length_offset, but never more than the model supports. A hypothesis that reaches the limit without an end
  /// is cut, which stopped_by reports.
  double maximum_length_factor = 2;
  std::int32_t maximum_length_offset = 10;
  std::int32_t maximum_length = 0;

  /// Logits of tokens that the hypothesis contains are divided by this (if positive) or multiplied by it (if negative)
  /// (Keskar et al. 2019).
  double repetition_penalty = 1;
  /// A hypothesis contains no sequence of this number of tokens twice. 0: off.
  std::int32_t no_repeat_ngram = 0;
  /// Token sequences, often of length 1, that no hypothesis may contain.
  std::vector<std::vector<std::int32_t>> suppressed{};
  bool suppress_unknown = false;
  /// The number of tokens at the beginning of a target prefix that are tags, such as language tags. They count towards
  /// lengths, and their log probability counts as 0.
  std::int32_t given_tokens = 0;
  PrefixRole prefix_role = PrefixRole::kScored;
  /// Whether a token that makes a hypothesis reach the longest target also cuts it. Otherwise the hypothesis has one
  /// more step, in which it may end. With an ordinary beam, only the first beam_size candidates of the last step count.
  bool cut_at_maximum = false;
  /// The tokens that end a hypothesis, in place of the model's end. Empty: the model's end.
  std::vector<std::int32_t> ends{};

  SamplingOptions sampling{};
  MbrOptions mbr{};

  /// Whether to return the attention of every target token to the source.
  bool want_alignment = false;
  /// Whether the caller replaces unknown tokens by the source word that they attend to most, so that alignments are
  /// kept.
  bool replace_unknown = false;

  bool operator==(const DecodingOptions&) const = default;
};

/// Merges settings of a search. `said` is in order of precedence: each option has the value of the first set that
/// contains it, otherwise the value in `program`. A set that names a length penalty also decides its alpha: the alpha
/// of the set, otherwise the default of the penalty. An alpha without a penalty applies to the penalty of the next set
/// that names one. Error{kInvalidArgument} as check().
///
///     const Search user{.beam_size = 6};
///     const Search folder{.length_penalty = "gnmt", .alpha = 0.6};
///     const DecodingOptions options = resolve({&user, &folder});
DecodingOptions resolve(std::initializer_list<const Search*> said, const DecodingOptions& program = {});
/// Returns `said`; options that it leaves unset are taken from `behind`.
Search merged(Search said, const Search& behind);

/// Returns all options as set values, except for `given_tokens`, which has no key.
Search search_of(const DecodingOptions& options);

/// Error{kInvalidArgument} naming the option and its value if the value is invalid for all models, or for models of
/// this spec.
void check(const DecodingOptions& options);
void check(const DecodingOptions& options, const nn::SequenceSpec& spec);

/// Error{kInvalidArgument} naming an option that differs from `usual` although the built-in search that
/// options.strategy names does not use it. check() accepts such options: a program may keep one set for several
/// searches.
void require_all_used(const DecodingOptions& options, const DecodingOptions& usual = {});

/// Returns whether a token ends hypotheses of the search.
inline bool is_end(const DecodingOptions& options, const nn::SequenceSpec& spec, std::int32_t token) {
  if (options.ends.empty()) return token == spec.end;
  return std::find(options.ends.begin(), options.ends.end(), token) != options.ends.end();
}

/// Returns the maximum length of a target, without the end, for a source of `source_length` tokens without the end.
std::int32_t maximum_target_length(const DecodingOptions& options, const nn::SequenceSpec& spec,
                                   std::int32_t source_length);

/// Returns the minimum number of tokens, without the end, for that source. It may exceed the maximum length.
std::int32_t minimum_target_length(const DecodingOptions& options, std::int32_t source_length);

/// Returns whether the search or its caller needs attention weights.
bool needs_alignment(const DecodingOptions& options);

}  // namespace dragoman::decoding
