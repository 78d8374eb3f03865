#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/core/log.h>
#include <dragoman/tokenizer/invalid_utf8.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

enum class LineFormat {
  kPieces,  ///< pieces as they stand in the tokenizer file, separated by one space
  kIds,     ///< decimal ids, separated by one space
  /// Written only: a JSON object {"pieces": [...], "ids": [...], "offsets": [[0, 3], ...]}. Offsets are as in
  /// Tokenizer::encode_pieces(), in bytes; ids that are added around a text have the empty range at its start or end.
  kJson,
};

struct LineCodingOptions {
  LineFormat format = LineFormat::kPieces;
  /// `line` is the number of the first input line; it is counted up from there.
  EncodeOptions encode = {};
  /// What encode_lines() does to the ids of a line: turns their order round, and puts these in front and behind.
  bool reverse = false;
  std::vector<std::int32_t> in_front = {};
  std::vector<std::int32_t> behind = {};
  /// If above 0, each line becomes a JSON object with the so many best segmentations, the best first:
  /// {"n_best": [{"pieces": [...], "score": -12.5}, ...]}, or "ids". Not together with encode.match_special_tokens:
  /// Error{kUnsupported}.
  std::int32_t n_best = 0;
  /// 0 means core::default_threads(). The output does not depend on it.
  int threads = 0;
  /// Of the text that encode_lines() reads.
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// Receives a message about a byte order mark, which is no text.
  core::LogSink log = {};
};

/// One line of pieces or ids per line of the text file `input` (gz and zst included, "-" is standard input), in order;
/// a CR before LF is kept as a character. Memory is bounded by a few blocks of lines. Does not commit `output`. In
/// lines of pieces, a space in a piece is a word mark. Throws Error{kUnsupported} for kPieces if a piece holds a line
/// feed, or if that makes it look like another piece, since the line could not be read back; Error{kInterrupted} when
/// `stop` asks (what was finished by then is written), and for a line that cannot be encoded the tokenizer's error with
/// the file and the line before it.
void encode_lines(const Tokenizer& tokenizer, const std::filesystem::path& input, core::OutputFile& output,
                  const LineCodingOptions& options, const core::ProgressSink& progress = {},
                  const std::stop_token& stop = {});

/// The way back. A line with something that is not a piece or an id throws Error{kBadInput} naming file and line, but
/// for the text that lines of pieces have where the tokenizer has no piece (Tokenizer::encode_as_text()). A
/// decoded line feed is written as a space, so that lines stay lines; returns the number of lines where that happened.
/// Of the options, `encode` is not used.
std::uint64_t decode_lines(const Tokenizer& tokenizer, const std::filesystem::path& input, core::OutputFile& output,
                           const LineCodingOptions& options, const core::ProgressSink& progress = {},
                           const std::stop_token& stop = {});

}  // namespace dragoman::tokenizer
