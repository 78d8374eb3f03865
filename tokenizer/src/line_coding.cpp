#include "dragoman/tokenizer/line_coding.h"

#include "thread_arena.h"

#include <algorithm>
#include <atomic>
#include <charconv>

#include <tbb/parallel_pipeline.h>

#include <dragoman/core/error.h>
#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;

struct Block {
  std::uint64_t first_line = 0;  ///< numbered from 0 in the file
  std::vector<std::string> lines;
};

Block read_block(core::LineReader& input) {
  Block block{input.line_number(), {}};
  std::string line;
  for (std::size_t bytes = 0; bytes < kBlockBytes && input.next(line); bytes += block.lines.back().size() + 1)
    block.lines.push_back(line);
  return block;
}

/// Reads blocks in order, turns several at a time into text, and writes them in order.
void for_each_block(core::LineReader& input, core::OutputFile& output, int threads, std::string_view stage,
                    const core::ProgressSink& progress, const std::stop_token& stop,
                    core::FunctionRef<std::string(const Block&)> code) {
  const auto read = [&](tbb::flow_control& control) {
    require(!stop.stop_requested(), ErrorCode::kInterrupted,
            "interrupted at line {} of {}; the lines before it are written", input.line_number() + 1, input.name());
    Block block = read_block(input);
    if (block.lines.empty()) control.stop();
    core::report(
        progress,
        {.stage = std::string(stage), .done = input.line_number(), .total = 0, .unit = "lines", .figures = {}});
    return block;
  };
  ThreadArena arena(threads);
  arena.execute([&] {
    tbb::parallel_pipeline(
        arena.tokens(), tbb::make_filter<void, Block>(tbb::filter_mode::serial_in_order, read) &
                            tbb::make_filter<Block, std::string>(tbb::filter_mode::parallel,
                                                                 [&](const Block& block) { return code(block); }) &
                            tbb::make_filter<std::string, void>(tbb::filter_mode::serial_in_order,
                                                                [&](const std::string& text) { output.write(text); }));
  });
}

void check_pieces_can_be_listed(const Tokenizer& tokenizer) {
  for (std::int32_t id = 0; id < tokenizer.size(); ++id)
    require(tokenizer.piece(id).find_first_of(" \n") == std::string_view::npos, ErrorCode::kUnsupported,
            "the piece {} of this tokenizer holds a space or a line feed, so that a line of pieces could not be read "
            "back; use ids",
            id);
}

void append_id(std::string& text, std::int32_t id) {
  char digits[12];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, id).ptr);
}

std::int32_t parse_id(std::string_view word, const Tokenizer& tokenizer, const std::string& where) {
  std::int32_t id = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  require(error == std::errc() && end == word.data() + word.size() && id >= 0 && id < tokenizer.size(),
          ErrorCode::kBadInput, "{}: '{}' is not an id from 0 to {}", where, word, tokenizer.size() - 1);
  return id;
}

std::int32_t parse_piece(std::string_view word, const Tokenizer& tokenizer, const std::string& where) {
  const auto id = tokenizer.id(word);
  require(id.has_value(), ErrorCode::kBadInput, "{}: '{}' is not a piece of this tokenizer", where, word);
  return *id;
}

std::vector<std::int32_t> parse_line(std::string_view line, LineFormat format, const Tokenizer& tokenizer,
                                     const std::string& where) {
  std::vector<std::int32_t> ids;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    if (!word.empty())
      ids.push_back(format == LineFormat::kIds ? parse_id(word, tokenizer, where)
                                               : parse_piece(word, tokenizer, where));
    begin = end + 1;
  }
  return ids;
}

}  // namespace

void encode_lines(const Tokenizer& tokenizer, core::LineReader& input, core::OutputFile& output,
                  const LineCodingOptions& options, const core::ProgressSink& progress, std::stop_token stop) {
  if (options.format == LineFormat::kPieces) check_pieces_can_be_listed(tokenizer);
  const auto encode = [&](const Block& block) {
    std::string text;
    EncodeOptions encode_options = options.encode;
    encode_options.line += block.first_line;
    for (const std::string& line : block.lines) {
      const std::size_t start = text.size();
      for (const std::int32_t id : tokenizer.encode(line, encode_options)) {
        if (text.size() > start) text += ' ';
        if (options.format == LineFormat::kIds)
          append_id(text, id);
        else
          text += tokenizer.piece(id);
      }
      text += '\n';
      ++encode_options.line;
    }
    return text;
  };
  for_each_block(input, output, options.threads, "encode", progress, stop, encode);
}

std::uint64_t decode_lines(const Tokenizer& tokenizer, core::LineReader& input, core::OutputFile& output,
                           const LineCodingOptions& options, const core::ProgressSink& progress, std::stop_token stop) {
  if (options.format == LineFormat::kPieces) check_pieces_can_be_listed(tokenizer);
  std::atomic<std::uint64_t> lines_with_line_feed = 0;
  const auto decode = [&](const Block& block) {
    std::string text;
    for (std::size_t i = 0; i < block.lines.size(); ++i) {
      const std::string where = fmt::format("{}: line {}", input.name(), block.first_line + i + 1);
      std::string line = tokenizer.decode(parse_line(block.lines[i], options.format, tokenizer, where));
      if (line.find('\n') != std::string::npos) {
        std::replace(line.begin(), line.end(), '\n', ' ');
        ++lines_with_line_feed;
      }
      text.append(line) += '\n';
    }
    return text;
  };
  for_each_block(input, output, options.threads, "decode", progress, stop, decode);
  return lines_with_line_feed;
}

}  // namespace dragoman::tokenizer
