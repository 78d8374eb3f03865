#include "normalizing/grapheme_clusters.h"

#include "younger_characters.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <unicode/uchar.h>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

/// The state of a cluster that the rules need.
class Cluster {
 public:
  explicit Cluster(char32_t first) { add(first); }

  bool takes(char32_t next) const {
    const int left = last_;
    const int right = property(next);
    if (left == U_GCB_CR && right == U_GCB_LF) return true;
    if (is_control(left) || is_control(right)) return false;
    if (right == U_GCB_EXTEND || right == U_GCB_ZWJ || right == U_GCB_SPACING_MARK || left == U_GCB_PREPEND)
      return true;
    if (joined_pictogram_ && u_hasBinaryProperty(static_cast<UChar32>(next), UCHAR_EXTENDED_PICTOGRAPHIC) != 0)
      return true;
    if (left == U_GCB_REGIONAL_INDICATOR && right == U_GCB_REGIONAL_INDICATOR) return !flag_is_whole_;
    return joins_syllable(left, right);
  }

  void add(char32_t next) {
    const int before = last_;
    last_ = property(next);
    flag_is_whole_ = before == U_GCB_REGIONAL_INDICATOR && last_ == U_GCB_REGIONAL_INDICATOR;
    joined_pictogram_ = pictogram_ && last_ == U_GCB_ZWJ;
    pictogram_ = u_hasBinaryProperty(static_cast<UChar32>(next), UCHAR_EXTENDED_PICTOGRAPHIC) != 0 ||
                 (pictogram_ && last_ == U_GCB_EXTEND);
  }

 private:
  static int property(char32_t c) {
    const int known = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_GRAPHEME_CLUSTER_BREAK);
    if (known != U_GCB_OTHER || c < kYoungerMarks[0].first) return known;
    if (c == kYoungerPrepend) return U_GCB_PREPEND;
    const auto* range = std::ranges::lower_bound(kYoungerMarks, c, std::less<>(), &YoungerMarks::last);
    return range != std::end(kYoungerMarks) && range->first <= c ? U_GCB_EXTEND : known;
  }
  static bool is_control(int property) {
    return property == U_GCB_CONTROL || property == U_GCB_CR || property == U_GCB_LF;
  }
  /// The rules for Hangul syllables.
  static bool joins_syllable(int left, int right) {
    if (left == U_GCB_L) return right == U_GCB_L || right == U_GCB_V || right == U_GCB_LV || right == U_GCB_LVT;
    if (left == U_GCB_LV || left == U_GCB_V) return right == U_GCB_V || right == U_GCB_T;
    return (left == U_GCB_LVT || left == U_GCB_T) && right == U_GCB_T;
  }

  int last_ = U_GCB_OTHER;
  bool flag_is_whole_ = false;     // two regional indicators
  bool pictogram_ = false;         // and its extending characters
  bool joined_pictogram_ = false;  // and a zero-width joiner
};

}  // namespace

std::size_t grapheme_cluster_end(std::string_view text, std::size_t begin) {
  const auto is_ascii = [&](std::size_t at) { return static_cast<unsigned char>(text[at]) < 0x80; };
  const bool before_ascii = begin + 1 == text.size() || is_ascii(begin + 1);
  if (is_ascii(begin) && before_ascii && text[begin] != '\r') return begin + 1;
  core::DecodedCharacter c = core::decode_utf8(text, begin);
  if (!c.valid) return begin + c.length;
  Cluster cluster(c.code_point);
  std::size_t end = begin + c.length;
  while (end < text.size()) {
    c = core::decode_utf8(text, end);
    if (!c.valid || !cluster.takes(c.code_point)) break;
    cluster.add(c.code_point);
    end += c.length;
  }
  return end;
}

}  // namespace dragoman::tokenizer
