#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/decoding/shortlist.h>
#include <dragoman/pipeline/aligner.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// The pieces that a shortlist knows of a model. The tokenizers must outlive the result.
decoding::ShortlistVocabularies shortlist_vocabularies(const nn::SequenceSpec& spec, const tokenizer::Tokenizer& source,
                                                       const tokenizer::Tokenizer& target);

/// Lexical translation probabilities of pieces, counted from aligned pairs: p(t | s) is the share of the links of
/// source piece s that lead to target piece t. A link of words is one of each piece of the one with each piece of the
/// other. Takes memory for each different pair of pieces. One thread at a time.
class LexiconBuilder {
 public:
  /// `unit`: what links number. Both tokenizers must outlive it.
  LexiconBuilder(const tokenizer::Tokenizer& source, const tokenizer::Tokenizer& target, AlignmentUnit unit);

  /// Counts a pair, whose `line` of an alignment is in Pharaoh's form. Error{kBadInput} as of corpus::parse_pharaoh().
  void add(std::string_view source, std::string_view target, std::string_view line);

  /// Writes what Marian's `--shortlist` and decoding::Shortlist read: "target source probability", by source piece,
  /// then the most probable first, at most `best` of each (0: all). Before these, with the source NULL, which Marian
  /// passes over, how frequent each target piece is. A piece that holds a blank, such as a tab, cannot
  /// stand in such a file and is left out. Returns the number of pairs.
  std::size_t write(core::OutputFile& out, std::int32_t best) const;

  /// The shortlist that such a file would make.
  decoding::Shortlist shortlist(const decoding::ShortlistVocabularies& vocabularies,
                                const decoding::ShortlistLimits& limits) const;

 private:
  const tokenizer::Tokenizer* source_;
  const tokenizer::Tokenizer* target_;
  AlignmentUnit unit_;
  std::unordered_map<std::uint64_t, std::uint64_t> links_;  ///< by source id * 2^32 + target id
  std::vector<std::uint64_t> targets_;                      ///< how often each piece occurs
};

}  // namespace dragoman::pipeline
