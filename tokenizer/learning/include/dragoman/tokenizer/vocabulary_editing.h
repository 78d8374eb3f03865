#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/invalid_utf8.h>

namespace dragoman::tokenizer {

/// In VocabularyEdit::new_ids: the piece is gone.
inline constexpr std::int32_t kDroppedPiece = -1;

/// A changed vocabulary, and where its pieces come from: what it takes to move the rows of an embedding matrix.
struct VocabularyEdit {
  BpeDefinition definition;
  /// By old id: the new one, or kDroppedPiece. Pieces that stay keep their spelling and their order. New ids that stand
  /// nowhere here are pieces that the old vocabulary did not have.
  std::vector<std::int32_t> new_ids;
};

/// The vocabulary that learning would have given with a smaller size. Kept are the pieces that no merge makes (special
/// tokens, bytes, user symbols, characters) and then the merges by rank, up to the one that makes the last piece. Of a
/// definition that learn_bpe() gave, that is what learn_bpe() gives for `size`, to the byte.
///
/// Throws Error{kInvalidArgument} if `size` is more than there are or less than the first group (the message says the
/// smallest size), and Error{kUnsupported} for a vocabulary whose pieces cannot be taken apart: one with a restricted
/// vocabulary, with symbols of their own at the ends of words, or with merges that only subword-nmt's order gives.
VocabularyEdit truncate(const BpeDefinition& definition, std::int32_t size);

struct PruneOptions {
  /// Pieces that occur less often go.
  std::uint64_t min_count = 1;
  /// Whether characters may go, too, and become bytes. Otherwise every piece that no merge makes stays.
  bool drop_characters = false;
};

/// The vocabulary without the pieces that a corpus has little use for; `counts` says by id how often each occurs there,
/// as CorpusStatistics::piece_counts does. Always kept are special tokens, user symbols, bytes, what the normaliser
/// writes, and the pieces that a kept piece is made of. Kept are all merges of kept pieces.
///
/// So a text decodes to what it did, and one that is made of kept pieces is encoded as it was; in others, kept merges
/// go on where a dropped piece would have been made. (A piece is always made in the same way, whatever stands beside
/// it: no merge on the way reaches over its ends. With each kept piece the pieces of that way stay.)
///
/// Throws Error{kInvalidArgument} if there are not as many counts as pieces, or if characters may go from a vocabulary
/// without byte fallback, and Error{kUnsupported} as truncate().
VocabularyEdit prune(const BpeDefinition& definition, std::span<const std::uint64_t> counts,
                     const PruneOptions& options = {});

/// The vocabulary with further special tokens and then user symbols behind the last piece: no old id changes, and texts
/// in which no new user symbol occurs are encoded as they were. Throws Error{kInvalidArgument} for a token that is a
/// piece already, or that learn_bpe() would not take, and Error{kUnsupported} as truncate().
VocabularyEdit extend(const BpeDefinition& definition, const std::vector<std::string>& special_tokens,
                      const std::vector<std::string>& user_symbols);

struct CorpusExtension {
  /// Number of pieces in all.
  std::int32_t size = 0;
  /// A pair that occurs less often is not merged.
  std::uint64_t min_frequency = 2;
  /// Share of the corpus's characters that have a piece afterwards; those that lack one get it before the merges. Not
  /// of byte-level vocabularies, nor of those that mark the ends of words.
  double character_coverage = 1.0;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// 0 means core::default_threads(). The result does not depend on it.
  int threads = 0;
};

/// The vocabulary with further merges, learned from text files as learn_bpe() learns, from where the merges that there
/// are have brought the text; new pieces go behind the last one. So no old id changes, a text's new pieces are new
/// characters, old pieces, or several of these joined, and a vocabulary of learn_bpe() extended with the corpus that it
/// was learned from, and the same coverage, is the one that learn_bpe() gives for the larger size.
///
/// Of a vocabulary whose words do not lie between spaces (a byte-level one, ...), all distinct lines are held in
/// memory.
///
/// Throws Error{kInvalidArgument} if `size` has no room for more than there are and the new characters, or there is no
/// file, Error{kBadInput} for an empty corpus, Error{kUnsupported} as truncate(), Error{kIo}, and Error{kInterrupted}
/// when `stop` asks.
VocabularyEdit extend_with_corpus(const BpeDefinition& definition, const std::vector<std::filesystem::path>& corpus,
                                  const CorpusExtension& options, const core::ProgressSink& progress = {},
                                  const core::LogSink& log = {}, const std::stop_token& stop = {});

/// Two vocabularies in one: the pieces of the first with their ids, then those of the second that it lacks; the merges
/// of the first, then those of the second that it lacks. So the first one's merges go first, and the second one's go on
/// from there: the pieces of a text are those of the first vocabulary or several of them joined, never other cuts.
/// `new_ids` are those of the second; the first one's stay.
///
/// Throws Error{kInvalidArgument} if they differ in anything else than pieces and merges (normaliser, words, bytes,
/// unknown token, decoder) or if a token of one is an ordinary piece of the other, and Error{kUnsupported} as
/// truncate().
VocabularyEdit merge_vocabularies(const BpeDefinition& first, const BpeDefinition& second);

/// What trainers read to move embeddings: for each old id a line of it, a tab, and the new id or `-`.
std::string id_map_lines(const VocabularyEdit& edit);

}  // namespace dragoman::tokenizer
