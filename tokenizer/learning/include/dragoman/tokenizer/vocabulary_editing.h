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

/// The value in VocabularyEdit::new_ids for a dropped piece.
inline constexpr std::int32_t kDroppedPiece = -1;

/// A changed vocabulary and the origin of its pieces, which is needed to move the rows of an embedding matrix.
///
///     const BpeDefinition definition = read_tokenizer_file("tokenizer.json");                  // tokenizer_files.h
///     const VocabularyEdit edit = truncate(definition, 4000);
///     write_tokenizer_file(edit.definition, FileKind::kTokenizerJson, "small.json");
///     core::write_file("ids.tsv", id_map_lines(edit));                                         // core/file.h
///
/// The functions of this header change none of their arguments. They may be called concurrently.
struct VocabularyEdit {
  BpeDefinition definition;
  /// The new id for each old id, or kDroppedPiece. Kept pieces keep their spelling and their order. New ids that do not
  /// occur here belong to new pieces.
  std::vector<std::int32_t> new_ids;
};

/// Returns the vocabulary that learning would have produced for a smaller size. For a definition from learn_bpe(), this
/// is the result of learn_bpe() for `size`, to the byte.
///
/// Keeps the pieces that no merge produces (special tokens, bytes, user symbols, characters), and then the merges by
/// rank, up to the one that produces the last piece.
///
/// Throws Error{kInvalidArgument} if `size` exceeds the number of pieces or is below the size of the first group (the
/// message gives the smallest size). Throws Error{kUnsupported} for a vocabulary whose pieces cannot be separated: one
/// with a restricted vocabulary, with separate symbols at the ends of words, or with merges that depend on
/// subword-nmt's order.
VocabularyEdit truncate(const BpeDefinition& definition, std::int32_t size);

/// The options of prune().
struct PruneOptions {
  /// Pieces that occur less often are dropped.
  std::uint64_t min_count = 1;
  /// Whether characters may be dropped too and become bytes. Otherwise every piece that no merge produces is kept.
  bool drop_characters = false;
};

/// Returns the vocabulary without pieces that are rare in a corpus. `counts` has the number of occurrences for each id,
/// as in CorpusStatistics::piece_counts.
///
/// Special tokens, user symbols, bytes, the characters that the normaliser writes, and the parts of kept pieces are
/// always kept. So are all merges of kept pieces.
///
/// Every text still decodes to the same text. A text whose pieces are all kept is encoded as before. In other texts,
/// kept merges apply where a dropped piece would have been produced. (A piece is always produced by the same merges,
/// regardless of its neighbours, since none of these merges crosses its ends. All pieces on this path are kept with the
/// piece.)
///
/// Throws Error{kInvalidArgument} if the numbers of counts and pieces differ, or if characters may be dropped from a
/// vocabulary without byte fallback. Throws Error{kUnsupported} like truncate().
VocabularyEdit prune(const BpeDefinition& definition, std::span<const std::uint64_t> counts,
                     const PruneOptions& options = {});

/// Returns the vocabulary with additional special tokens and then user symbols after the last piece. Old ids are
/// unchanged, and texts without new user symbols are encoded as before. Throws Error{kInvalidArgument} for a token that
/// is a piece already, or that learn_bpe() would reject, and Error{kUnsupported} like truncate().
VocabularyEdit extend(const BpeDefinition& definition, const std::vector<std::string>& special_tokens,
                      const std::vector<std::string>& user_symbols);

/// The options of extend_with_corpus().
struct CorpusExtension {
  /// The number of pieces in all.
  std::int32_t size = 0;
  /// Pairs that occur less often are not merged.
  std::uint64_t min_frequency = 2;
  /// The share of the corpus's characters that have a piece afterwards. Missing characters get a piece before the
  /// merges are learned. Has no effect on byte-level vocabularies and on vocabularies that mark the ends of words.
  double character_coverage = 1.0;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// 0 means core::default_threads(). The result does not depend on it.
  int threads = 0;
};

/// Returns the vocabulary with further merges, learned from text files as in learn_bpe(). Learning starts from the text
/// as encoded by the existing merges, and new pieces follow the last one. Old ids are unchanged. The pieces of a text
/// are then new characters, old pieces, or several of these joined. If a vocabulary of learn_bpe() is extended with its
/// own corpus and the same coverage, the result equals learn_bpe() for the larger size.
///
/// If the words of the vocabulary are not separated by spaces (byte-level vocabularies, ...), all distinct lines are
/// kept in memory.
///
/// Throws Error{kInvalidArgument} if `size` leaves no room for more than the existing pieces and the new characters, or
/// if there is no file; Error{kBadInput} for an empty corpus; Error{kUnsupported} like truncate(); Error{kIo}; and
/// Error{kInterrupted} if `stop` is requested.
VocabularyEdit extend_with_corpus(const BpeDefinition& definition, const std::vector<std::filesystem::path>& corpus,
                                  const CorpusExtension& options, const core::ProgressSink& progress = {},
                                  const core::LogSink& log = {}, const std::stop_token& stop = {});

/// Returns the union of two vocabularies: the pieces of the first with their ids, then the other pieces of the second;
/// the merges of the first, then the other merges of the second. The merges of the first apply first, and the merges of
/// the second continue from there. The pieces of a text are therefore pieces of the first vocabulary or several of them
/// joined, never another segmentation. `new_ids` are for the second vocabulary; the ids of the first are unchanged.
///
/// Throws Error{kInvalidArgument} if the vocabularies differ in anything but pieces and merges (normaliser, words,
/// bytes, unknown token, decoder), or if a token of one is an ordinary piece of the other. Throws Error{kUnsupported}
/// like truncate().
VocabularyEdit merge_vocabularies(const BpeDefinition& first, const BpeDefinition& second);

/// Returns lines for trainers that move embeddings: for each old id a line with that id, a tab, and the new id or `-`.
std::string id_map_lines(const VocabularyEdit& edit);

}  // namespace dragoman::tokenizer
