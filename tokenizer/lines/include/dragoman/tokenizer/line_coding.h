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

/// The format of encoded lines.
enum class LineFormat {
  kPieces,  ///< pieces as in the tokenizer file, separated by one space
  kIds,     ///< decimal ids, separated by one space
  /// Output only: a JSON object {"pieces": [...], "ids": [...], "offsets": [[0, 3], ...]}. Offsets are in bytes, as in
  /// Tokenizer::encode_pieces(). Ids added around a text have the empty range at its start or end.
  kJson,
};

/// The options of encode_lines() and decode_lines().
struct LineCodingOptions {
  LineFormat format = LineFormat::kPieces;
  /// `line` is the number of the first input line, and is incremented for each following line.
  EncodeOptions encode = {};
  /// encode_lines() reverses the ids of each line if `reverse` is set. It then adds `in_front` and `behind` around
  /// them.
  bool reverse = false;
  std::vector<std::int32_t> in_front = {};
  std::vector<std::int32_t> behind = {};
  /// If above 0, each line becomes a JSON object with this number of best segmentations, the best first: {"n_best":
  /// [{"pieces": [...], "score": -12.5}, ...]}, or with "ids". In combination with encode.match_special_tokens this is
  /// Error{kUnsupported}.
  std::int32_t n_best = 0;
  /// 0 means core::default_threads(). The output does not depend on it.
  int threads = 0;
  /// The treatment of invalid UTF-8 in the text that encode_lines() reads.
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;
  /// Receives a message about a byte order mark, which is skipped.
  core::LogSink log = {};
};

/// Writes one line of pieces or ids for each line of the text file `input` (which may be compressed: gz, zst; "-" is
/// standard input), in order. A CR before LF is kept as a character. A space in a piece is written as a word mark.
/// Memory is limited to a few blocks of lines. Does not commit `output`.
///
///     const auto tokenizer = load_tokenizer("tokenizer.json");      // tokenizer_files.h
///     core::OutputFile output("train.pieces.de");
///     encode_lines(*tokenizer, "train.de", output, {.threads = 4});
///     output.commit();
///
/// Throws Error{kUnsupported} for kPieces if a piece contains a line feed, or looks like another piece because of the
/// word mark, since the line could not be decoded. Throws Error{kInterrupted} if `stop` is requested; lines finished by
/// then are written. If a line cannot be encoded, throws the tokenizer's error with the file and line as a prefix.
void encode_lines(const Tokenizer& tokenizer, const std::filesystem::path& input, core::OutputFile& output,
                  const LineCodingOptions& options, const core::ProgressSink& progress = {},
                  const std::stop_token& stop = {});

/// Decodes the lines written by encode_lines(). A decoded line feed is written as a space, so that each text stays on
/// one line. Returns the number of lines with such a space. `options.encode` is not used.
///
/// Throws Error{kBadInput} with file and line for a word that is not a piece or an id. In lines of pieces, words that
/// Tokenizer::encode_as_text() writes for text without a piece are accepted.
std::uint64_t decode_lines(const Tokenizer& tokenizer, const std::filesystem::path& input, core::OutputFile& output,
                           const LineCodingOptions& options, const core::ProgressSink& progress = {},
                           const std::stop_token& stop = {});

}  // namespace dragoman::tokenizer
