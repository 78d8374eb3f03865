#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/decoding/shortlist.h>
#include <dragoman/pipeline/aligner.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// Returns the vocabularies of a model for a shortlist. The tokenizers must outlive the result.
decoding::ShortlistVocabularies shortlist_vocabularies(const nn::SequenceSpec& spec, const tokenizer::Tokenizer& source,
                                                       const tokenizer::Tokenizer& target);

/// Counts lexical translation probabilities of pieces in aligned pairs: p(t | s) is the share of the links of source
/// piece s that lead to target piece t. A link of words links each piece of one word to each piece of the other. The
/// memory grows with the number of different pairs of pieces. Not thread-safe.
///
///     const auto tokenizer = tokenizer::load_tokenizer("tokenizer.json");      // tokenizer/tokenizer_files.h
///     LexiconBuilder builder(*tokenizer, *tokenizer, AlignmentUnit::kWords);
///     builder.add("Guten Morgen", "Good morning", "0-0 1-1");
///     core::OutputFile output("lexicon.txt");
///     builder.write(output, /*best=*/100);
///     output.commit();
class LexiconBuilder {
 public:
  /// `unit`: the unit that links refer to. Both tokenizers must outlive the object.
  LexiconBuilder(const tokenizer::Tokenizer& source, const tokenizer::Tokenizer& target, AlignmentUnit unit);

  /// Counts a pair whose alignment is `line`, in Pharaoh format. Error{kBadInput} as corpus::parse_pharaoh().
  void add(std::string_view source, std::string_view target, std::string_view line);

  /// Writes a file for Marian's `--shortlist` and decoding::Shortlist: "target source probability", sorted by source
  /// piece, then by descending probability, at most `best` lines per source piece (0: all). Lines with the source NULL,
  /// which Marian ignores, come first and contain the frequency of each target piece. A piece that contains whitespace,
  /// such as a tab, cannot be written and is left out. Returns the number of pairs.
  std::size_t write(core::OutputFile& out, std::int32_t best) const;

  /// Returns the shortlist that such a file would give.
  decoding::Shortlist shortlist(const decoding::ShortlistVocabularies& vocabularies,
                                const decoding::ShortlistLimits& limits) const;

 private:
  const tokenizer::Tokenizer* source_;
  const tokenizer::Tokenizer* target_;
  AlignmentUnit unit_;
  core::IntegerMap<std::uint64_t, std::uint64_t> links_;  ///< by source id * 2^32 + target id
  std::vector<std::uint64_t> targets_;                    ///< number of occurrences of each piece
};

}  // namespace dragoman::pipeline
