#include "dragoman/tokenizer/line_coding.h"

#include "lines/line_decoder.h"
#include "lines/line_encoder.h"
#include "reading/chunk_loop.h"
#include "reading/count_lines.h"
#include "reading/long_line.h"
#include "reading/thread_arena.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

#include <dragoman/core/error.h>
#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

/// Visits the lines of a chunk with their numbers from 0.
template <class Visit>
void for_each_line(const Chunk& chunk, Visit&& visit) {
  const std::string_view text = chunk.text();
  std::uint64_t number = chunk.first_line;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    visit(text.substr(begin, end - begin), number);
    begin = end + 1;
  }
}

std::vector<std::string_view> lines_of(const Chunk& chunk) {
  std::vector<std::string_view> lines;
  for_each_line(chunk, [&](std::string_view line, std::uint64_t /*number*/) { lines.push_back(line); });
  return lines;
}

/// Reads chunks in order, converts several at a time to text, and writes the results in order.
void for_each_chunk(ChunkReader& reader, core::OutputFile& output, int threads, std::string_view stage,
                    const core::ProgressSink& progress, const core::RunStop& stop,
                    core::FunctionRef<std::string(const Chunk&)> code) {
  // Chunks that were read before an interruption are still converted and written.
  bool interrupted = false;
  const auto read = [&](Chunk& chunk) {
    try {
      interrupted = stop.token().stop_requested();
      if (!interrupted) reader.next(chunk);
    } catch (const core::Error& error) {
      if (error.code() != ErrorCode::kInterrupted) throw;
      interrupted = true;
    }
    if (interrupted || chunk.size == 0) return false;
    core::report(
        progress,
        {.stage = std::string(stage), .done = reader.lines_read(), .total = 0, .unit = "lines", .figures = {}});
    return true;
  };
  std::size_t lines = 0;
  const auto write = [&](const std::string& text) {
    lines += count_line_feeds(text);
    output.write(text);
    output.flush();  // so that the reader of a pipe gets every line that was read
    return true;
  };
  process_chunks(*core::make_executor(threads), stop, read, code, write);
  require(!interrupted || lines > 0, ErrorCode::kInterrupted,
          "interrupted before the first line of {} was done; nothing was written", reader.name());
  require(!interrupted, ErrorCode::kInterrupted, "interrupted after {} lines of {}, which are in {}", lines,
          reader.name(), output.partial_name());
}

std::string shown_name(const std::filesystem::path& input) {
  return input == "-" ? "standard input" : input.string();
}

/// Throws the error of the line that cannot be encoded. Finding it by encoding the lines again costs nothing in the
/// normal case.
void require_each_encodes(LineEncoder& encoder, const std::vector<std::string_view>& lines, std::uint64_t number,
                          const std::string& where, std::uint64_t lines_before) {
  std::string ignored;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      ignored.clear();
      encoder.append(lines[i], number + i, ignored);
    } catch (const core::Error& error) {
      throw core::Error(error.code(), fmt::format("{}: line {}: {}", where, lines_before + i + 1, error.what()),
                        error.location());
    }
  }
}

}  // namespace

void encode_lines(const Tokenizer& tokenizer, const std::filesystem::path& input, core::OutputFile& output,
                  const LineCodingOptions& options, const core::ProgressSink& progress, const std::stop_token& stop) {
  const LineEncoding encoding(tokenizer, options);
  OnePerThread<LineEncoder> encoders;
  const auto encode = [&](const Chunk& chunk) {
    std::string text;
    text.reserve(chunk.size * 2);
    const std::vector<std::string_view> lines = lines_of(chunk);
    const std::uint64_t number = options.encode.line + chunk.first_line;
    encoders.with([&] { return LineEncoder(encoding); },
                  [&](LineEncoder& encoder) {
                    try {
                      encoder.append_all(lines, number, text);
                    } catch (const core::Error&) {
                      require_each_encodes(encoder, lines, number, shown_name(input), chunk.first_line);
                      throw;
                    } catch (const std::bad_alloc&) {
                      fail_for_long_line(chunk.text(), chunk.first_line, shown_name(input));
                    }
                  });
    return text;
  };
  const core::RunStop run_stop(stop);
  ChunkReader reader({input}, ChunkReader::Unit::kLine, run_stop.token(), std::numeric_limits<std::size_t>::max(),
                     options.invalid_utf8, options.log);
  for_each_chunk(reader, output, options.threads, "encode", progress, run_stop, encode);
}

std::uint64_t decode_lines(const Tokenizer& tokenizer, const std::filesystem::path& input, core::OutputFile& output,
                           const LineCodingOptions& options, const core::ProgressSink& progress,
                           const std::stop_token& stop) {
  require(options.format != LineFormat::kJson, ErrorCode::kUnsupported, "lines of JSON are not decoded; write ids");
  std::atomic<std::uint64_t> lines_with_line_feed = 0;
  const core::RunStop run_stop(stop);
  ChunkReader reader({input}, ChunkReader::Unit::kLine, run_stop.token(), std::numeric_limits<std::size_t>::max(),
                     InvalidUtf8::kKeep, options.log);
  const std::string name = shown_name(input);
  const LineDecoder decoder(tokenizer, options.format);
  const auto decode = [&](const Chunk& chunk) {
    std::string text;
    for_each_line(chunk, [&](std::string_view coded, std::uint64_t number) {
      std::string line =
          decoder.decode(coded, [&](std::size_t /*begin*/) { return fmt::format("{}: line {}", name, number + 1); });
      if (line.find('\n') != std::string::npos) {
        std::replace(line.begin(), line.end(), '\n', ' ');
        ++lines_with_line_feed;
      }
      text.append(line) += '\n';
    });
    return text;
  };
  for_each_chunk(reader, output, options.threads, "decode", progress, run_stop, decode);
  return lines_with_line_feed;
}

}  // namespace dragoman::tokenizer
