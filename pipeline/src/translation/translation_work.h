#pragma once

#include "stream/line_options.h"
#include "unknown_replacement.h"

#include <string>
#include <vector>

#include <dragoman/decoding/hypothesis.h>
#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// One stretch of a record's text that is translated separately.
struct TranslationPart {
  /// The text before it in the output: text between sentences, or the space between the parts of a sentence that was
  /// too long.
  std::string before;
  std::vector<std::int32_t> source;  ///< tokens, with the closing end
  core::TextRange text{};            ///< the bytes of the record's text
  SourceText source_text{};          ///< kept only to replace unknown tokens
  std::vector<std::int32_t> target_prefix{};
  std::vector<decoding::Constraint> constraints{};
  /// The text that each constraint demands, and the texts of these that the translation lacks.
  std::vector<std::string> terms{};
  std::vector<std::string> lacking{};
  /// Kept only for details: a line may be long, and they take twenty times the memory of the text.
  std::vector<decoding::Hypothesis> hypotheses{};
  std::vector<double> utilities{};  ///< of minimum Bayes risk, one for each of them
  std::string translation{};
  decoding::StoppedBy stopped_by = decoding::StoppedBy::kEnd;
  std::optional<SentenceAttention> attention{};  ///< where it is requested, until it is written
};

/// A record that is being translated.
struct TranslationWork {
  Record record;
  std::vector<TranslationPart> parts;
  std::string after;  ///< text after the last part
  bool split_for_length = false;
  bool has_unknown_pieces = false;  ///< a line of pieces with words that the source tokenizer does not have
};

/// Cuts the record's text into parts. A record with a demand that cannot be met fails.
TranslationWork prepare_translation(const ModelView& model, const RecordOptions& options, const LineDemands& demands,
                                    Record record);

/// Stores a part's result: the best hypothesis as text. `options` with a search, here as below.
void finish_part(const ModelView& model, const RecordOptions& options, engine::TranslationResult result,
                 TranslationPart& part);

/// Puts the translated parts together in the record. Returns how many of them were cut at the length limit.
std::size_t finish_translation(const ModelView& model, const RecordOptions& options, TranslationWork& work);

}  // namespace dragoman::pipeline
