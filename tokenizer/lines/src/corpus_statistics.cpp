#include "dragoman/tokenizer/corpus_statistics.h"

#include "reading/chunk_loop.h"
#include "reading/long_line.h"
#include "reading/thread_arena.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

/// The id of no piece.
constexpr std::int32_t kNoPiece = -1;

std::int32_t unknown_piece(const Tokenizer& tokenizer) {
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  return bpe == nullptr ? kNoPiece : bpe->definition().unknown.value_or(kNoPiece);
}

/// Returns for each id whether byte fallback produces it.
std::vector<bool> byte_pieces(const Tokenizer& tokenizer) {
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  std::vector<bool> bytes(static_cast<std::size_t>(tokenizer.size()), false);
  for (std::size_t id = 0; bpe != nullptr && bpe->definition().byte_fallback() && id < bytes.size(); ++id)
    bytes[id] = byte_of_piece(bpe->definition().pieces[id]).has_value();
  return bytes;
}

std::uint64_t count_characters(std::string_view text) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++count) i += core::decode_utf8(text, i).length;
  return count;
}

/// Finds the ends of the words of a line.
void find_word_ends(std::string_view line, std::vector<std::size_t>& ends) {
  ends.clear();
  for (std::size_t begin = line.find_first_not_of(' '); begin != std::string_view::npos;
       begin = line.find_first_not_of(' ', ends.back()))
    ends.push_back(std::min(line.find(' ', begin), line.size()));
}

/// Counts the lines of one thread.
class LineCounter {
 public:
  explicit LineCounter(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {
    statistics_.piece_counts.resize(static_cast<std::size_t>(tokenizer.size()));
  }

  void count_lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      count(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  const CorpusStatistics& statistics() const { return statistics_; }

 private:
  void count(std::string_view line) {
    const std::vector<Piece> pieces = tokenizer_->encode_pieces(line);
    for (const Piece& piece : pieces) ++statistics_.piece_counts[static_cast<std::size_t>(piece.id)];
    find_word_ends(line, word_ends_);
    statistics_.lines += 1;
    statistics_.words += word_ends_.size();
    statistics_.bytes += line.size();
    statistics_.characters += count_characters(line);
    statistics_.pieces += pieces.size();
    statistics_.pieces_per_line.add(pieces.size());
    count_words(pieces);
  }

  void count_words(const std::vector<Piece>& pieces) {
    std::size_t next = 0;
    for (std::size_t word = 0; word < word_ends_.size(); ++word) {
      const std::size_t first = next;
      const bool last = word + 1 == word_ends_.size();
      while (next < pieces.size() && (last || pieces[next].end <= word_ends_[word])) ++next;
      statistics_.pieces_per_word.add(next - first);
    }
  }

  const Tokenizer* tokenizer_;
  CorpusStatistics statistics_;
  std::vector<std::size_t> word_ends_;
};

void add(CorpusStatistics& all, const CorpusStatistics& part) {
  all.lines += part.lines;
  all.words += part.words;
  all.bytes += part.bytes;
  all.characters += part.characters;
  all.pieces += part.pieces;
  all.pieces_per_line.add(part.pieces_per_line);
  all.pieces_per_word.add(part.pieces_per_word);
  for (std::size_t id = 0; id < all.piece_counts.size(); ++id) all.piece_counts[id] += part.piece_counts[id];
}

/// Adds integers, so the distribution over threads does not matter.
void add_up(CorpusStatistics& all, const OnePerThread<LineCounter>& counters, const Tokenizer& tokenizer) {
  for (const auto& counter : counters.all()) add(all, counter->statistics());
  const std::vector<bool> bytes = byte_pieces(tokenizer);
  const std::int32_t unknown = unknown_piece(tokenizer);
  for (std::size_t id = 0; id < bytes.size(); ++id) {
    if (bytes[id]) all.byte_pieces += all.piece_counts[id];
    if (static_cast<std::int32_t>(id) == unknown) all.unknown_pieces += all.piece_counts[id];
  }
}

}  // namespace

std::uint64_t Histogram::count() const {
  std::uint64_t count = 0;
  for (const auto& [value, times] : times_) count += times;
  return count;
}

double Histogram::mean() const {
  double sum = 0;
  for (const auto& [value, times] : times_) sum += static_cast<double>(value) * static_cast<double>(times);
  return times_.empty() ? 0 : sum / static_cast<double>(count());
}

std::uint64_t Histogram::quantile(double share) const {
  const double wanted = share * static_cast<double>(count());
  std::uint64_t below = 0;
  for (const auto& [value, times] : times_) {
    below += times;
    if (static_cast<double>(below) >= wanted) return value;
  }
  return max();
}

CorpusStatistics measure_corpus(const Tokenizer& tokenizer, const std::vector<std::filesystem::path>& inputs,
                                int threads, const core::ProgressSink& progress, std::stop_token stop) {
  const core::RunStop run_stop(stop);
  ChunkReader reader(inputs, ChunkReader::Unit::kLine, run_stop.token());
  OnePerThread<LineCounter> counters;
  const auto read = [&](Chunk& chunk) {
    core::require(!stop.stop_requested(), core::ErrorCode::kInterrupted, "interrupted at line {} of {}",
                  reader.lines_read() + 1, reader.name());
    reader.next(chunk);
    core::report(progress,
                 {.stage = "measure", .done = reader.lines_read(), .total = 0, .unit = "lines", .figures = {}});
    return chunk.size > 0;
  };
  const auto count = [&](const Chunk& chunk) {
    counters.with([&] { return LineCounter(tokenizer); },
                  [&](LineCounter& counter) {
                    try {
                      counter.count_lines(chunk.text());
                    } catch (const std::bad_alloc&) {
                      fail_for_long_line(chunk.text(), chunk.first_line,
                                         inputs.size() == 1 ? inputs.front().string() : "all files together");
                    }
                  });
  };
  visit_chunks(*core::make_executor(threads), run_stop, read, count);
  CorpusStatistics all;
  all.piece_counts.resize(static_cast<std::size_t>(tokenizer.size()));
  add_up(all, counters, tokenizer);
  return all;
}

}  // namespace dragoman::tokenizer
