#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::decoding {

/// Whose tokens a shortlist is about.
struct ShortlistVocabularies {
  using Id = std::function<std::optional<std::int32_t>(std::string_view piece)>;

  std::int32_t source_size = 0;
  std::int32_t target_size = 0;
  /// Always among the candidates.
  std::int32_t end = 0;
  std::int32_t unknown = 0;
  /// Source and target have one vocabulary, so a source token may be copied.
  bool shared = false;
  Id source_id{};
  Id target_id{};
};

/// As Marian's `--shortlist FILE first best`.
struct ShortlistLimits {
  /// The most frequent target tokens are always candidates.
  std::int32_t first = 100;
  /// The most probable translations of each source token.
  std::int32_t best = 100;
};

/// Which target tokens may stand in a translation of some source tokens (a lexical shortlist: Jean et al. 2015;
/// Mi, Wang and Ittycheriah 2016): a softmax over these alone costs a fraction. Immutable; threads share it.
class Shortlist {
 public:
  /// Probability of a target token as the translation of a source token.
  struct Entry {
    std::int32_t source = 0;
    std::int32_t target = 0;
    float probability = 0;
  };

  /// Entries in any order; of a pair that stands there twice the last counts. `frequent` are target tokens that are
  /// always candidates. Only the probabilities' order is looked at, and that they are above 0; of equals the greater
  /// token goes first, as in Marian. Error{kInvalidArgument} for a token outside of its vocabulary.
  Shortlist(const ShortlistVocabularies& vocabularies, std::vector<Entry> entries,
            std::span<const std::int32_t> frequent, std::int32_t best);

  /// Reads a file of Marian's: text (a line for each pair: target piece, source piece, probability; gz and zst too), or
  /// the binary form of marian-conv and Bergamot. Text: lines with the source or target NULL are of no word. Where
  /// those with the source NULL hold target pieces of the vocabulary, the `first` most probable of them are the
  /// frequent tokens, else those with the smallest ids, as Marian has it; pieces that the vocabularies do not have are
  /// passed over, and Error{kBadInput} says so if that leaves nothing. Binary: it has limits of its own, which count.
  /// Error{kBadInput} with the place for what is malformed.
  static Shortlist read(const std::filesystem::path& path, const ShortlistVocabularies& vocabularies,
                        const ShortlistLimits& limits = {});

  /// Returns whether a file has the binary form.
  static bool is_binary(const std::filesystem::path& path);

  /// Replaces `candidates` by the tokens, rising and unique, that may stand in a translation of `source`, whose tokens
  /// must be of the vocabulary. The end is always among them.
  void candidates(std::span<const std::int32_t> source, std::vector<std::int32_t>& candidates) const;

  /// The binary form. Read again with vocabularies of the same sizes it gives the same candidates for any source with
  /// its end, on whose list stands what is always a candidate.
  std::string to_binary() const;

  std::int32_t source_vocabulary() const noexcept { return static_cast<std::int32_t>(offsets_.size()) - 1; }
  std::int32_t target_vocabulary() const noexcept { return target_size_; }
  /// Pairs that it holds.
  std::size_t size() const noexcept { return targets_.size(); }

 private:
  friend Shortlist read_binary_shortlist(std::string_view bytes, const std::filesystem::path& path,
                                         const ShortlistVocabularies& vocabularies);

  explicit Shortlist(const ShortlistVocabularies& vocabularies);
  void set_always(const ShortlistVocabularies& vocabularies, std::span<const std::int32_t> frequent);

  std::int32_t target_size_;
  bool shared_;
  std::int32_t end_;
  std::vector<std::int32_t> always_;
  std::vector<std::size_t> offsets_;  ///< of each source token's first in targets_, and one more
  std::vector<std::int32_t> targets_;
};

}  // namespace dragoman::decoding
