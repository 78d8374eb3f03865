#pragma once

#include "base/piece_table.h"
#include "base/trie.h"
#include "dragoman/tokenizer/unigram_tokenizer.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// A piece of a normalised text and the bytes [begin, end) that it covers. Texts are shorter than 4 GiB, and a line of
/// spaces has a segment for each.
struct Segment {
  Segment(std::int32_t piece, std::size_t first, std::size_t last)
      : id(piece), begin(static_cast<std::uint32_t>(first)), end(static_cast<std::uint32_t>(last)) {}

  std::int32_t id;
  std::uint32_t begin;
  std::uint32_t end;
};

/// The best path to the end of each prefix of a text, by the length of the prefix.
struct UnigramBuffers {
  struct Best {
    float score;
    std::int32_t id;  // of its last piece, or -1 if there is no path
    std::uint32_t begin;
  };
  std::vector<Best> best;
  std::vector<Segment> segments;
  std::uint64_t draws = 0;  ///< the number of random draws for this text
};

/// The parameters for sampling a segmentation.
struct UnigramSampling {
  double alpha;
  std::uint64_t seed;
  std::uint64_t line;
};

/// A segmentation and the sum of its scores.
struct ScoredSegments {
  std::vector<Segment> segments;
  double score = 0;
};

/// Converts normalised text to pieces. Immutable after construction.
class UnigramModel {
 public:
  /// `texts` are the texts of the definition's pieces, by id, and must outlive the model. Throws Error{kBadInput,
  /// kUnsupported} that begins with `name`.
  UnigramModel(const UnigramDefinition& definition, const std::vector<std::string>& texts, const std::string& name);

  /// Segments valid UTF-8 into the pieces with the largest sum of scores and stores them in buffers.segments. Unknown
  /// characters stay separate. A long text takes memory for its segments only. Throws Error{kBadInput} for 4 GiB or
  /// more.
  void segment(std::string_view text, UnigramBuffers& buffers) const;

  /// Draws a segmentation with a probability proportional to exp(alpha * sum of scores), by forward filtering and
  /// backward sampling, and stores it in buffers.segments.
  void sample(std::string_view text, const UnigramSampling& sampling, UnigramBuffers& buffers) const;
  /// Returns the segmentations with the largest sums, at most `most`, the best first; none if the search is not
  /// finished at `deadline`. Throws like segment().
  std::vector<ScoredSegments> n_best(
      std::string_view text, std::size_t most,
      std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt) const;

  std::int32_t unknown() const noexcept { return unknown_; }
  /// With byte fallback, returns the id of a byte.
  std::int32_t byte(unsigned char value) const noexcept { return bytes_[value]; }
  /// Returns the id of any piece, or -1.
  std::int32_t find(std::string_view piece) const noexcept { return all_.find(piece); }

 private:
  /// Computes the same segments as segment() of a shorter text, to the last bit of their scores, and forgets the paths
  /// to a position that no piece crosses.
  void segment_in_parts(std::string_view text, UnigramBuffers& buffers) const;

  struct Edge {
    std::int32_t id;
    std::uint32_t begin;
    std::uint32_t end;
    float score;
  };
  /// Returns all pieces at all positions, by their beginnings, and unknown characters where no piece is one character.
  std::vector<Edge> edges(std::string_view text) const;
  void check_and_index(const UnigramDefinition& definition, const std::string& name);
  void index_bytes(const UnigramDefinition& definition, const std::string& name);
  void compute_scores(const UnigramDefinition& definition);

  PieceTable<> all_;
  std::int32_t unknown_ = -1;
  std::array<std::int32_t, 256> bytes_{};
  Trie trie_;                          // of the pieces that text can become
  std::vector<float> scores_;          // by id
  std::vector<float> lattice_scores_;  // by id, for sample() and n_best()
  float unknown_score_ = 0;
};

}  // namespace dragoman::tokenizer
