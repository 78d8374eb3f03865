#include "piece_counts.h"

#include "text_fields.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::tokenizer {

using core::ErrorCode;
using core::require;

std::optional<VocabularyOfTexts> read_piece_counts(const ReadOptions& options) {
  if (options.vocabulary.empty()) return std::nullopt;
  VocabularyOfTexts pieces;
  core::LineReader lines(options.vocabulary);
  for (std::string line; lines.next(line);) {
    // spm_encode would read such a line as one piece, which no model has, and all words would become characters.
    const std::size_t space = line.find_last_of(" \t");
    require(space == std::string::npos || line[space] == '\t' || !parse_integer(strip(line.substr(space + 1), "\r")),
            ErrorCode::kBadInput,
            "{}: line {}: there is a space before the count, as in fairseq's dict.txt, and spm_encode has a tab; turn "
            "it into one (sed 's/ \\([0-9]*\\)$/\\t\\1/')",
            lines.name(), lines.line_number());
    const auto fields = split_at(strip(line, "\r"), '\t');
    const auto count = fields.size() > 1 ? parse_integer(fields[1]) : std::optional<std::int64_t>(1);
    require(!fields.front().empty() && count.has_value(), ErrorCode::kBadInput,
            "{}: line {}: expected a piece, a tab and its count, as spm_encode writes vocabularies", lines.name(),
            lines.line_number());
    require(
        *count >= 0, ErrorCode::kBadInput,
        "{}: line {}: {} is no count but a score, as spm_train writes it; give a list with the counts of pieces in a "
        "corpus",
        lines.name(), lines.line_number(), *count);
    if (*count >= options.vocabulary_threshold) pieces.emplace(fields.front());
  }
  require(!pieces.empty(), ErrorCode::kBadInput,
          "{}: no piece in it has the count {} of `vocabulary_threshold`, so all words would fall into characters",
          lines.name(), options.vocabulary_threshold);
  return pieces;
}

}  // namespace dragoman::tokenizer
