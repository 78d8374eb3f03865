#include "dragoman/pipeline/lexicon_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/corpus/word_alignment.h>
#include <dragoman/tokenizer/words_of_pieces.h>

namespace dragoman::pipeline {
namespace {

/// The pieces of each unit that links refer to.
struct PiecesOfUnits {
  std::vector<std::int32_t> ids;
  std::vector<std::vector<std::size_t>> units;
};

PiecesOfUnits pieces_of_units(const tokenizer::Tokenizer& tokenizer, std::string_view text, AlignmentUnit unit) {
  const std::vector<tokenizer::Piece> pieces = tokenizer.encode_pieces(text);
  PiecesOfUnits result;
  for (const tokenizer::Piece& piece : pieces) result.ids.push_back(piece.id);
  if (unit == AlignmentUnit::kPieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) result.units.push_back({i});
    return result;
  }
  const std::vector<TextRange> words = corpus::words_of(text);
  const std::vector<TextRange> words_at = tokenizer::words_of_pieces(pieces, words);
  result.units.resize(words.size());
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (std::size_t word = words_at[i].begin; word < words_at[i].end; ++word) result.units[word].push_back(i);
  return result;
}

std::uint64_t key_of(std::int32_t source, std::int32_t target) {
  return static_cast<std::uint64_t>(source) << 32U | static_cast<std::uint32_t>(target);
}

struct CountedTarget {
  std::int32_t target;
  std::uint64_t count;
};

/// Returns whether a piece is one field of a line with fields separated by whitespace.
bool is_one_field(std::string_view piece) {
  const std::vector<TextRange> words = corpus::words_of(piece);
  return words.size() == 1 && words.front().begin == 0 && words.front().end == piece.size();
}

/// Sorts by descending count. Of equal counts, the greater id is first; decoding::Shortlist keeps the same one.
void most_first(std::vector<CountedTarget>& targets) {
  std::ranges::sort(targets, [](const CountedTarget& a, const CountedTarget& b) {
    return a.count != b.count ? a.count > b.count : a.target > b.target;
  });
}

}  // namespace

decoding::ShortlistVocabularies shortlist_vocabularies(const nn::SequenceSpec& spec, const tokenizer::Tokenizer& source,
                                                       const tokenizer::Tokenizer& target) {
  return {.source_size = static_cast<std::int32_t>(spec.source_vocabulary),
          .target_size = static_cast<std::int32_t>(spec.target_vocabulary),
          .end = spec.end,
          .unknown = spec.unknown,
          .shared = &source == &target && spec.source_vocabulary == spec.target_vocabulary,
          .source_id = [&source](std::string_view piece) { return source.id(piece); },
          .target_id = [&target](std::string_view piece) { return target.id(piece); }};
}

LexiconBuilder::LexiconBuilder(const tokenizer::Tokenizer& source, const tokenizer::Tokenizer& target,
                               AlignmentUnit unit)
    : source_(&source), target_(&target), unit_(unit), targets_(static_cast<std::size_t>(target.size())) {}

void LexiconBuilder::add(std::string_view source, std::string_view target, std::string_view line) {
  const PiecesOfUnits sources = pieces_of_units(*source_, source, unit_);
  const PiecesOfUnits targets = pieces_of_units(*target_, target, unit_);
  const corpus::Links links = corpus::parse_pharaoh(line, static_cast<std::int64_t>(sources.units.size()),
                                                    static_cast<std::int64_t>(targets.units.size()));
  for (const std::int32_t id : targets.ids) ++targets_[static_cast<std::size_t>(id)];
  for (const corpus::Link& link : links)
    for (const std::size_t s : sources.units[static_cast<std::size_t>(link.source)])
      for (const std::size_t t : targets.units[static_cast<std::size_t>(link.target)])
        ++links_[key_of(sources.ids[s], targets.ids[t])];
}

std::size_t LexiconBuilder::write(core::OutputFile& out, std::int32_t best) const {
  std::vector<CountedTarget> frequent;
  std::uint64_t total = 0;
  for (std::size_t id = 0; id < targets_.size(); ++id) {
    if (targets_[id] > 0) frequent.push_back({static_cast<std::int32_t>(id), targets_[id]});
    total += targets_[id];
  }
  std::size_t pairs = 0;
  const auto write_line = [&](std::string_view source, const CountedTarget& counted, std::uint64_t all) {
    const std::string_view target = target_->piece(counted.target);
    if (!is_one_field(target)) return;
    const double share = static_cast<double>(counted.count) / static_cast<double>(all);
    out.write(fmt::format("{} {} {:.7g}\n", target, source, share));
    ++pairs;
  };
  most_first(frequent);
  for (const CountedTarget& counted : frequent) write_line("NULL", counted, total);
  pairs = 0;

  std::vector<std::vector<CountedTarget>> lexicon(static_cast<std::size_t>(source_->size()));
  for (const auto& [key, count] : links_)
    lexicon[key >> 32U].push_back({static_cast<std::int32_t>(key & 0xFFFFFFFFU), count});
  for (std::size_t source = 0; source < lexicon.size(); ++source) {
    std::vector<CountedTarget>& targets = lexicon[source];
    const std::string_view name = source_->piece(static_cast<std::int32_t>(source));
    if (targets.empty() || !is_one_field(name)) continue;
    std::uint64_t all = 0;
    for (const CountedTarget& counted : targets) all += counted.count;
    most_first(targets);
    if (best > 0 && targets.size() > static_cast<std::size_t>(best)) targets.resize(static_cast<std::size_t>(best));
    for (const CountedTarget& counted : targets) write_line(name, counted, all);
  }
  return pairs;
}

decoding::Shortlist LexiconBuilder::shortlist(const decoding::ShortlistVocabularies& vocabularies,
                                              const decoding::ShortlistLimits& limits) const {
  std::vector<CountedTarget> frequent;
  for (std::size_t id = 0; id < targets_.size(); ++id)
    if (targets_[id] > 0) frequent.push_back({static_cast<std::int32_t>(id), targets_[id]});
  most_first(frequent);
  std::vector<std::int32_t> first;
  for (const CountedTarget& counted : frequent)
    if (first.size() < static_cast<std::size_t>(limits.first)) first.push_back(counted.target);
  // The counts of one source piece have the same order as their shares.
  std::vector<decoding::Shortlist::Entry> entries;
  entries.reserve(links_.size());
  for (const auto& [key, count] : links_)
    entries.push_back({static_cast<std::int32_t>(key >> 32U), static_cast<std::int32_t>(key & 0xFFFFFFFFU),
                       static_cast<float>(count)});
  return {vocabularies, std::move(entries), first, limits.best};
}

}  // namespace dragoman::pipeline
