#include "unigram_model.h"

#include "base/add_in_logs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/random.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using Type = UnigramPiece::Type;

/// The difference between the score of an unknown character and the worst piece.
constexpr float kUnknownPenalty = 10.0F;
/// The score that each byte except the first adds to a user-defined symbol, whatever its score in the model. Among
/// several segmentations it is each character.
constexpr double kSymbolBonus = 0.1;

std::size_t count_characters(std::string_view text) {
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); at += core::decode_utf8(text, at).length) ++characters;
  return characters;
}

float symbol_score(std::size_t length) {
  return static_cast<float>(kSymbolBonus * static_cast<double>(length - 1));
}

bool is_made_from_text(const UnigramPiece& piece) {
  return piece.type == Type::kNormal || piece.type == Type::kUserDefined;
}

/// Makes `size` copies of a value, which takes seconds for long texts, mostly for the memory.
template <class T>
void fill(std::vector<T>& values, std::size_t size, const T& value) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  values.clear();
  values.reserve(size);
  while (values.size() < size) {
    core::check_stop("encoding a text");
    values.resize(std::min(size, values.size() + kAtOnce), value);
  }
}

void check_length(std::string_view text) {
  require(text.size() < std::numeric_limits<std::uint32_t>::max(), ErrorCode::kBadInput,
          "a text of {} bytes is too long to be encoded; split it into lines", text.size());
}

}  // namespace

UnigramModel::UnigramModel(const UnigramDefinition& definition, const std::vector<std::string>& texts,
                           const std::string& name)
    : all_(texts) {
  check_and_index(definition, name);
  if (definition.byte_fallback) index_bytes(definition, name);
  compute_scores(definition);
  std::vector<Trie::Entry> entries;
  for (std::size_t id = 0; id < definition.pieces.size(); ++id)
    if (is_made_from_text(definition.pieces[id])) entries.emplace_back(texts[id], static_cast<std::int32_t>(id));
  trie_ = Trie(std::move(entries));
}

void UnigramModel::check_and_index(const UnigramDefinition& definition, const std::string& name) {
  constexpr std::size_t kMaxPieces = std::numeric_limits<std::int32_t>::max();
  require(definition.pieces.size() <= kMaxPieces, ErrorCode::kUnsupported, "{}: {} pieces are too many", name,
          definition.pieces.size());
  core::StopCheck check("opening a tokenizer");
  for (std::size_t i = 0; i < definition.pieces.size(); ++i) {
    check(200);
    const UnigramPiece& piece = definition.pieces[i];
    const auto id = static_cast<std::int32_t>(i);
    require(!piece.text.empty(), ErrorCode::kBadInput, "{}: piece {} is empty", name, i);
    require(core::find_invalid_utf8(piece.text) == std::string::npos, ErrorCode::kBadInput,
            "{}: piece {} is not valid UTF-8", name, i);
    require(piece.text.find('\0') == std::string::npos, ErrorCode::kUnsupported,
            "{}: piece {} holds the character U+0000; that is not supported", name, i);
    require(all_.add(id), ErrorCode::kBadInput, "{}: {} is the text of two pieces, {} and {}", name, Quoted{piece.text},
            all_.find(piece.text), i);
    if (piece.type != Type::kUnknown) continue;
    require(unknown_ < 0, ErrorCode::kBadInput, "{}: {} is a second unknown piece", name, Quoted{piece.text});
    unknown_ = id;
  }
  require(unknown_ >= 0, ErrorCode::kBadInput, "{}: no unknown piece", name);
  require(std::ranges::any_of(definition.pieces, is_made_from_text), ErrorCode::kBadInput,
          "{}: no piece that could be made from text", name);
}

void UnigramModel::index_bytes(const UnigramDefinition& definition, const std::string& name) {
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    const std::string piece = piece_of_byte(static_cast<unsigned char>(byte));
    bytes_[byte] = all_.find(piece);
    require(bytes_[byte] >= 0 && definition.pieces[static_cast<std::size_t>(bytes_[byte])].type == Type::kByte,
            ErrorCode::kBadInput, "{}: byte fallback is on, but the byte piece {} is missing", name, piece);
  }
}

/// Computes the same values as the library, to the last bit.
void UnigramModel::compute_scores(const UnigramDefinition& definition) {
  float least = std::numeric_limits<float>::max();
  for (const UnigramPiece& piece : definition.pieces) {
    if (piece.type == Type::kNormal) least = std::min(least, piece.score);
    const bool symbol = piece.type == Type::kUserDefined;
    scores_.push_back(symbol ? symbol_score(piece.text.size()) : piece.score);
    lattice_scores_.push_back(symbol ? symbol_score(count_characters(piece.text)) : piece.score);
  }
  unknown_score_ = least - kUnknownPenalty;
}

void UnigramModel::segment(std::string_view text, UnigramBuffers& buffers) const {
  constexpr std::size_t kLongText = std::size_t{1} << 20;
  check_length(text);
  if (text.size() >= kLongText) return segment_in_parts(text, buffers);
  auto& best = buffers.best;
  fill(best, text.size() + 1, {0, -1, 0});
  core::StopCheck check("encoding a text");
  const auto consider = [&best](std::size_t begin, std::size_t end, std::int32_t id, float score) {
    if (best[end].id < 0 || score > best[end].score) best[end] = {score, id, static_cast<std::uint32_t>(begin)};
  };
  for (std::size_t begin = 0; begin < text.size();) {
    check(20);
    const float before = best[begin].score;
    const std::size_t character = core::utf8_length(static_cast<unsigned char>(text[begin]));
    bool known = false;
    trie_.for_each_prefix(text.substr(begin), [&](std::int32_t id, std::size_t length) {
      consider(begin, begin + length, id, scores_[static_cast<std::size_t>(id)] + before);
      known = known || length == character;
    });
    if (!known) consider(begin, begin + character, unknown_, unknown_score_ + before);
    begin += character;
  }
  buffers.segments.clear();
  for (std::size_t end = text.size(); end > 0; end = best[end].begin) {
    check();
    buffers.segments.push_back({best[end].id, best[end].begin, end});
  }
  std::ranges::reverse(buffers.segments);
}

std::vector<UnigramModel::Edge> UnigramModel::edges(std::string_view text) const {
  check_length(text);
  std::vector<Edge> edges;
  core::StopCheck check("encoding a text");
  for (std::uint32_t begin = 0; begin < text.size();) {
    check(20);
    const auto character = static_cast<std::uint32_t>(core::utf8_length(static_cast<unsigned char>(text[begin])));
    bool known = false;
    trie_.for_each_prefix(text.substr(begin), [&](std::int32_t id, std::size_t length) {
      edges.push_back(
          {id, begin, begin + static_cast<std::uint32_t>(length), lattice_scores_[static_cast<std::size_t>(id)]});
      known = known || length == character;
    });
    if (!known) edges.push_back({unknown_, begin, begin + character, unknown_score_});
    begin += character;
  }
  return edges;
}

void UnigramModel::sample(std::string_view text, const UnigramSampling& sampling, UnigramBuffers& buffers) const {
  constexpr double kNoWay = -std::numeric_limits<double>::infinity();
  std::vector<Edge> all = edges(text);
  std::vector<double> ways;  // logarithms of sums over the paths to a position
  fill(ways, text.size() + 1, kNoWay);
  ways[0] = 0;
  core::StopCheck check("encoding a text");
  for (const Edge& edge : all) {
    check(20);
    ways[edge.end] = add_in_logs(ways[edge.end], ways[edge.begin] + sampling.alpha * static_cast<double>(edge.score));
  }
  std::ranges::stable_sort(all, [&](const Edge& a, const Edge& b) {
    check();
    return a.end < b.end;
  });
  buffers.segments.clear();
  for (std::uint32_t end = static_cast<std::uint32_t>(text.size()); end > 0;) {
    check(100);
    const auto first = std::partition_point(all.begin(), all.end(), [&](const Edge& edge) { return edge.end < end; });
    const auto last = std::partition_point(first, all.end(), [&](const Edge& edge) { return edge.end == end; });
    double left = core::random_uniform(sampling.seed, sampling.line, buffers.draws++);
    auto drawn = first;
    for (auto edge = first; edge != last && left >= 0; ++edge) {
      if (ways[edge->begin] == kNoWay) continue;
      drawn = edge;  // the last edge is used if rounding leaves a remainder
      left -= std::exp(ways[edge->begin] + sampling.alpha * static_cast<double>(edge->score) - ways[end]);
    }
    buffers.segments.push_back({drawn->id, drawn->begin, drawn->end});
    end = drawn->begin;
  }
  std::ranges::reverse(buffers.segments);
}

std::vector<ScoredSegments> UnigramModel::n_best(std::string_view text, std::size_t most,
                                                 std::optional<std::chrono::steady_clock::time_point> deadline) const {
  /// One of the best paths to a position: its last piece, and the index of the path that it extends.
  struct Way {
    double score;
    const Edge* edge;
    std::uint32_t rank;
  };
  constexpr std::size_t kBytesPerLook = 1024;  // between looks at the clock
  // Each position stores the best paths to it.
  constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
  const std::size_t bytes_of_place = most * sizeof(Way) + sizeof(std::vector<Way>);
  require(text.size() < kMaxBytes / bytes_of_place, ErrorCode::kBadInput,
          "the {} best segmentations of a text of {} bytes would take {} MB of memory, and at most {} MB are taken for "
          "one text; ask for fewer, or split the line",
          most, text.size(), (text.size() + 1) * bytes_of_place >> 20, kMaxBytes >> 20);
  const std::vector<Edge> all = edges(text);
  std::vector<std::vector<Way>> ways(text.size() + 1);
  ways[0] = {{0, nullptr, 0}};
  std::size_t finished = 0;
  const auto keep_best = [&](std::vector<Way>& at) {
    std::ranges::stable_sort(at, std::greater<>(), &Way::score);
    if (at.size() > most) at.resize(most);
  };
  const auto finish = [&](std::vector<Way>& at) {
    keep_best(at);
    at.shrink_to_fit();
  };
  core::StopCheck check("encoding a text");
  for (const Edge& edge : all) {
    check(10 * ways[edge.begin].size());
    for (; finished < edge.begin; ++finished) {
      finish(ways[finished + 1]);
      if (deadline && finished % kBytesPerLook == 0 && std::chrono::steady_clock::now() >= *deadline) return {};
    }
    const std::vector<Way>& before = ways[edge.begin];
    for (std::uint32_t rank = 0; rank < before.size(); ++rank)
      ways[edge.end].push_back({before[rank].score + static_cast<double>(edge.score), &edge, rank});
    // Limits a position to a few times the number of paths that are kept.
    if (ways[edge.end].size() > 4 * most + 64) keep_best(ways[edge.end]);
  }
  finish(ways.back());
  std::vector<ScoredSegments> found;
  for (const Way& last : ways.back()) {
    ScoredSegments& next = found.emplace_back(ScoredSegments{.segments = {}, .score = last.score});
    for (const Way* way = &last; way->edge != nullptr; way = &ways[way->edge->begin][way->rank]) {
      check(10);
      next.segments.push_back({way->edge->id, way->edge->begin, way->edge->end});
    }
    std::ranges::reverse(next.segments);
  }
  return found;
}

}  // namespace dragoman::tokenizer
