#include "dragoman/tokenizer/comparison.h"

#include "lines/line_encoder.h"
#include "reading/long_line.h"

#include <new>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::uint64_t kReportInterval = 4096;

std::string encoded(LineEncoder& encoder, const std::string& line, std::uint64_t number) {
  std::string text;
  try {
    encoder.append(line, number, text);
    text.pop_back();
    return text;
  } catch (const core::Error& error) {
    return fmt::format("(cannot be encoded: {})", error.what());
  }
}

/// If a SentencePiece model lacks a piece, its lines contain the text. The other tokenizer may have this text as a
/// piece, or may write its unknown piece if it was read from another file of the same tokenizer. Therefore the unknown
/// piece is compared.
LineEncoding with_unknown_pieces(const Tokenizer& tokenizer, const LineCodingOptions& options) {
  LineEncoding encoding(tokenizer, options);
  encoding.unknown = -1;
  return encoding;
}

}  // namespace

Comparison compare_tokenizers(const Tokenizer& first, const Tokenizer& second, const std::filesystem::path& corpus,
                              const LineCodingOptions& options, std::size_t shown, const core::ProgressSink& progress,
                              std::stop_token stop) {
  const LineEncoding first_encoding = with_unknown_pieces(first, options);
  const LineEncoding second_encoding = with_unknown_pieces(second, options);
  LineEncoder first_encoder(first_encoding);
  LineEncoder second_encoder(second_encoding);
  Comparison comparison;
  core::LineReader lines(corpus, stop);
  for (std::string line; lines.next(line); ++comparison.lines) {
    core::require(!stop.stop_requested(), core::ErrorCode::kInterrupted, "interrupted at line {} of {}",
                  lines.line_number(), lines.name());
    std::string one, other;
    try {
      one = encoded(first_encoder, line, comparison.lines);
      other = encoded(second_encoder, line, comparison.lines);
    } catch (const std::bad_alloc&) {
      fail_for_long_line(line, comparison.lines, lines.name());
    }
    if (one != other && ++comparison.different <= shown)
      comparison.differences.push_back({lines.line_number(), std::move(one), std::move(other)});
    if (lines.line_number() % kReportInterval == 0)
      core::report(progress,
                   {.stage = "verify", .done = lines.line_number(), .total = 0, .unit = "lines", .figures = {}});
  }
  return comparison;
}

}  // namespace dragoman::tokenizer
