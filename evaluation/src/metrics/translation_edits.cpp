#include "translation_edits.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>

#include <dragoman/core/stop_scope.h>

namespace dragoman::evaluation {
namespace {

using Index = std::ptrdiff_t;

constexpr Index kLongestShift = 10;
constexpr Index kFarthestShift = 50;
constexpr int kMaxCandidates = 1000;

/// The hypothesis word aligned with each reference word, and the words in error.
struct Alignment {
  std::vector<Index> hypothesis_position;  ///< [reference]; -1: before the first word
  std::vector<bool> reference_error;       ///< [reference]
  std::vector<bool> hypothesis_error;      ///< [hypothesis]
};

Alignment align(const std::vector<Edit>& edits) {
  Alignment alignment;
  for (const Edit edit : edits) {
    const bool error = edit != Edit::kMatch;
    if (edit != Edit::kInsert) alignment.hypothesis_error.push_back(error);
    if (edit == Edit::kDelete) continue;
    alignment.hypothesis_position.push_back(static_cast<Index>(alignment.hypothesis_error.size()) - 1);
    alignment.reference_error.push_back(error);
  }
  return alignment;
}

bool any_error(const std::vector<bool>& errors, Index start, Index length) {
  const auto begin = errors.begin() + start;
  return std::find(begin, begin + length, true) != begin + length;
}

/// Two equal phrases: hypothesis[hypothesis_start, + length) and reference[reference_start, + length).
struct Phrase {
  Index hypothesis_start;
  Index reference_start;
  Index length;
};

struct Shift {
  int gain;
  Index length;
  Index start;
  Index target;
  Words result;

  /// Ranks shifts as Tercom does: the largest gain, then the longest phrase, then the first phrase, then the first
  /// target.
  bool better_than(const Shift& other) const {
    return std::tuple(gain, length, -start, -target) >
           std::tuple(other.gain, other.length, -other.start, -other.target);
  }
};

/// Moves words[start, start + length) to before words[target]. A target within the phrase counts from the phrase's end.
Words shifted(const Words& words, Index start, Index length, Index target) {
  Words result = words;
  const auto first = result.begin() + start;
  const auto last = first + length;
  if (target < start) {
    std::rotate(result.begin() + target, first, last);
  } else {
    const Index end = target > start + length ? target : target + length;
    std::rotate(first, last, result.begin() + std::min(end, static_cast<Index>(result.size())));
  }
  return result;
}

class ShiftSearch {
 public:
  ShiftSearch(const Words& hypothesis, const Words& reference)
      : words_(hypothesis), reference_(reference), distance_(reference, hypothesis.size()) {}

  std::size_t run() {
    std::size_t shifts = 0;
    for (;;) {
      std::optional<Shift> best = find_best_shift();
      // A search that reached the limit of candidates is incomplete. sacreBLEU then does not apply its best shift.
      if (candidates_ >= kMaxCandidates || !best || best->gain <= 0) break;
      ++shifts;
      words_ = std::move(best->result);
    }
    return shifts + static_cast<std::size_t>(distance_(words_));
  }

 private:
  std::optional<Shift> find_best_shift() {
    const int cost = distance_(words_);
    const Alignment alignment = align(distance_.edits());
    std::optional<Shift> best;
    const auto try_phrase = [&](const Phrase& phrase) {
      if (!worth_shifting(phrase, alignment)) return true;
      try_targets(phrase, alignment, cost, best);
      return candidates_ < kMaxCandidates;
    };
    for_each_equal_phrase(try_phrase);
    return best;
  }

  /// Returns whether both sides have an error in the phrase, and the phrase is not yet where it belongs.
  static bool worth_shifting(const Phrase& phrase, const Alignment& alignment) {
    const Index position = alignment.hypothesis_position[static_cast<std::size_t>(phrase.reference_start)];
    return any_error(alignment.hypothesis_error, phrase.hypothesis_start, phrase.length) &&
           any_error(alignment.reference_error, phrase.reference_start, phrase.length) &&
           !(phrase.hypothesis_start <= position && position < phrase.hypothesis_start + phrase.length);
  }

  /// Tries the positions that the alignment assigns to the word before the phrase in the reference, and to the words in
  /// it.
  void try_targets(const Phrase& phrase, const Alignment& alignment, int cost, std::optional<Shift>& best) {
    Index previous = -1;
    for (Index offset = -1; offset < phrase.length; ++offset) {
      const Index in_reference = phrase.reference_start + offset;
      const Index target =
          in_reference < 0 ? 0 : alignment.hypothesis_position[static_cast<std::size_t>(in_reference)] + 1;
      if (target == previous) continue;
      previous = target;
      Words result = shifted(words_, phrase.hypothesis_start, phrase.length, target);
      const int gain = cost - distance_(result);
      Shift shift{gain, phrase.length, phrase.hypothesis_start, target, std::move(result)};
      ++candidates_;
      if (!best || shift.better_than(*best)) best = std::move(shift);
    }
  }

  /// Calls visit(phrase) for each pair of equal phrases until it returns false.
  template <class Visit>
  void for_each_equal_phrase(Visit&& visit) const {
    core::StopCheck check("computing TER");
    const auto hypothesis_size = static_cast<Index>(words_.size());
    const auto reference_size = static_cast<Index>(reference_.size());
    for (Index h = 0; h < hypothesis_size; ++h) {
      check(2 * kFarthestShift);
      const Index last = std::min(reference_size - 1, h + kFarthestShift);
      for (Index r = std::max<Index>(0, h - kFarthestShift); r <= last; ++r) {
        const Index longest = std::min({kLongestShift, hypothesis_size - h, reference_size - r});
        for (Index length = 1; length <= longest && equal_words(h + length - 1, r + length - 1); ++length)
          if (!visit(Phrase{h, r, length})) return;
      }
    }
  }

  bool equal_words(Index h, Index r) const {
    return words_[static_cast<std::size_t>(h)] == reference_[static_cast<std::size_t>(r)];
  }

  Words words_;
  const Words& reference_;
  BeamEditDistance distance_;
  int candidates_ = 0;
};

}  // namespace

std::size_t translation_edits(const Words& hypothesis, const Words& reference) {
  if (reference.empty()) return hypothesis.size();
  return ShiftSearch(hypothesis, reference).run();
}

}  // namespace dragoman::evaluation
