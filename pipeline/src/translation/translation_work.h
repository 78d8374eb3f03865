#pragma once

#include "stream/line_options.h"
#include "unknown_replacement.h"

#include <string>
#include <vector>

#include <dragoman/decoding/hypothesis.h>
#include <dragoman/markup/markup.h>
#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// One stretch of a record's text that is translated separately.
struct TranslationPart {
  /// The text before the part in the output: text between sentences, or the space between the parts of a long sentence.
  std::string before;
  std::vector<std::int32_t> source;  ///< tokens, including the closing end
  core::TextRange text{};            ///< the bytes of the record's text
  SourceText source_text{};          ///< kept only to replace unknown tokens
  std::vector<std::int32_t> target_prefix{};
  std::vector<decoding::Constraint> constraints{};
  /// The text that each constraint requires, and those texts that the translation lacks.
  std::vector<std::string> terms{};
  std::vector<std::string> lacking{};
  /// Kept only for details: a line may be long, and hypotheses take twenty times the memory of the text.
  std::vector<decoding::Hypothesis> hypotheses{};
  std::vector<double> utilities{};  ///< one per hypothesis, for minimum Bayes risk
  std::string translation{};
  decoding::StoppedBy stopped_by = decoding::StoppedBy::kEnd;
  std::optional<SentenceAttention> attention{};  ///< if requested, until it is written
  /// Whether tags are within the text, so that the translation must be aligned with it. The links have positions within
  /// the part.
  bool has_tags = false;
  std::vector<markup::Link> links{};
};

/// A record that is being translated.
struct TranslationWork {
  Record record;
  /// The record's text, if it has markup. Parts are then ranges of `plain`: all its segments, each on a line.
  std::optional<markup::Document> document{};
  std::string plain{};
  std::vector<std::size_t> segments{};  ///< where each segment begins
  std::vector<TranslationPart> parts;
  std::string after;  ///< text after the last part
  bool split_for_length = false;
  bool has_unknown_pieces = false;  ///< a line of pieces with words outside the source vocabulary

  /// Returns the text that the parts are ranges of.
  const std::string& text() const { return document ? plain : record.text; }
};

/// Cuts the record's text into parts. The record fails if it has a requirement that cannot be met.
TranslationWork prepare_translation(const ModelView& model, const RecordOptions& options, const LineDemands& demands,
                                    Record record);

/// Stores a part's result: the best hypothesis as text. Here and below, `options` must have a search.
void finish_part(const ModelView& model, const RecordOptions& options, engine::TranslationResult result,
                 TranslationPart& part);

/// Joins the translated parts in the record. Returns the number of parts that were cut at the length limit.
std::size_t finish_translation(const ModelView& model, const RecordOptions& options, TranslationWork& work);

}  // namespace dragoman::pipeline
