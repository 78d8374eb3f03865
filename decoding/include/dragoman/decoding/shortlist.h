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

/// The vocabularies that a shortlist refers to.
struct ShortlistVocabularies {
  using Id = std::function<std::optional<std::int32_t>(std::string_view piece)>;

  std::int32_t source_size = 0;
  std::int32_t target_size = 0;
  /// Always among the candidates.
  std::int32_t end = 0;
  std::int32_t unknown = 0;
  /// Whether source and target share one vocabulary, so that a source token may be copied.
  bool shared = false;
  Id source_id{};
  Id target_id{};
};

/// The limits of Marian's `--shortlist FILE first best`.
struct ShortlistLimits {
  /// The number of most frequent target tokens that are always candidates.
  std::int32_t first = 100;
  /// The number of most probable translations of each source token.
  std::int32_t best = 100;
};

/// A lexical shortlist: the target tokens that may occur in a translation of given source tokens (Jean et al. 2015; Mi,
/// Wang and Ittycheriah 2016). A softmax over these tokens alone costs a fraction. Immutable; threads may share it.
///
///     const ShortlistVocabularies vocabularies{.source_size = 100, .target_size = 100, .end = 2};
///     const Shortlist shortlist(vocabularies, {{.source = 57, .target = 61, .probability = 0.8F}},
///                               std::vector<std::int32_t>{5, 6}, /*best=*/10);
///     std::vector<std::int32_t> candidates;
///     shortlist.candidates(std::vector<std::int32_t>{57, 2}, candidates);     // 5, 6, 61 and the end
class Shortlist {
 public:
  /// The probability of a target token as the translation of a source token.
  struct Entry {
    std::int32_t source = 0;
    std::int32_t target = 0;
    float probability = 0;
  };

  /// Takes entries in any order. If a pair occurs twice, the last entry applies. `frequent` are target tokens that are
  /// always candidates. Probabilities must be above 0; only their order matters. Of equal probabilities the greater
  /// token is first, as in Marian. Error{kInvalidArgument} for a token outside its vocabulary.
  Shortlist(const ShortlistVocabularies& vocabularies, std::vector<Entry> entries,
            std::span<const std::int32_t> frequent, std::int32_t best);

  /// Reads a shortlist file of Marian. There are two forms:
  /// - Text (also gz and zst): one line per pair, with target piece, source piece and probability. Lines with the
  ///   source or target NULL belong to no word. If lines with the source NULL have target pieces of the vocabulary, the
  ///   `first` most probable of these are the frequent tokens; otherwise the tokens with the smallest ids are, as in
  ///   Marian. Pieces outside the vocabularies are ignored. Error{kBadInput} if nothing remains.
  /// - The binary form of marian-conv and Bergamot. It contains its own limits, which apply.
  /// Error{kBadInput} with the place if the file is malformed.
  static Shortlist read(const std::filesystem::path& path, const ShortlistVocabularies& vocabularies,
                        const ShortlistLimits& limits = {});

  /// Returns whether a file has the binary form.
  static bool is_binary(const std::filesystem::path& path);

  /// Replaces `candidates` by the tokens, ascending and unique, that may occur in a translation of `source`. The source
  /// tokens must be in the vocabulary. The end is always a candidate.
  void candidates(std::span<const std::int32_t> source, std::vector<std::int32_t>& candidates) const;

  /// Returns the binary form. If it is read with vocabularies of the same sizes, it yields the same candidates for any
  /// source that includes its end: the tokens that are always candidates are on the list of the end.
  std::string to_binary() const;

  std::int32_t source_vocabulary() const noexcept { return static_cast<std::int32_t>(offsets_.size()) - 1; }
  std::int32_t target_vocabulary() const noexcept { return target_size_; }
  /// Returns the number of pairs.
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
  std::vector<std::size_t> offsets_;  ///< offset in targets_ of the first entry of each source token, then the total
  std::vector<std::int32_t> targets_;
};

}  // namespace dragoman::decoding
