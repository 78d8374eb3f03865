#include "normalizing/sentencepiece_normalizer.h"

#include "normalizing/growth.h"

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

Trie trie_of(const std::vector<std::string_view>& texts) {
  std::vector<Trie::Entry> entries;
  for (const std::string_view text : texts) entries.emplace_back(text, 0);
  return Trie(std::move(entries));
}

}  // namespace

/// The state of normalising one text.
class SentencePieceNormalizer::Run {
 public:
  Run(const SentencePieceNormalizer& normalizer, std::string_view text, std::size_t begin, bool track, AlignedText& out)
      : normalizer_(normalizer),
        rest_(text),
        at_(begin),
        track_(track),
        limit_(most_normalised(text.size())),
        out_(out) {}

  void normalize() {
    const SentencePieceNormalization& options = normalizer_.options_;
    if (options.remove_extra_spaces) skip_leading_spaces();
    if (rest_.empty()) return finish();
    if (options.dummy_prefix && !options.space_as_suffix) put(normalizer_.space_);
    while (!rest_.empty()) take_prefix();
    if (options.remove_extra_spaces) drop_trailing_spaces();
    if (options.dummy_prefix && options.space_as_suffix) put(normalizer_.space_);
    finish();
  }

 private:
  void skip_leading_spaces() {
    while (!rest_.empty()) {
      const Prefix prefix = normalizer_.normalize_prefix(rest_);
      if (prefix.replacement != " ") return;
      advance(prefix.length);
    }
  }

  void take_prefix() {
    Prefix prefix = normalizer_.normalize_prefix(rest_);
    if (behind_space_ && normalizer_.options_.remove_extra_spaces)
      prefix.replacement.remove_prefix(std::min(prefix.replacement.find_first_not_of(' '), prefix.replacement.size()));
    for (const char c : prefix.replacement) put(c == ' ' ? normalizer_.space_ : std::string_view(&c, 1));
    if (!prefix.replacement.empty()) behind_space_ = prefix.replacement.back() == ' ';
    advance(prefix.length);
  }

  void drop_trailing_spaces() {
    while (out_.text.ends_with(normalizer_.space_)) {
      out_.text.resize(out_.text.size() - normalizer_.space_.size());
      if (!track_) continue;
      at_ = out_.origin[out_.text.size()];
      out_.origin.resize(out_.text.size());
    }
  }

  void put(std::string_view text) {
    core::require(out_.text.size() < limit_, core::ErrorCode::kBadInput,
                  "the character map of this tokenizer makes a text more than {} times as long; the model is damaged",
                  kMaxGrowth);
    out_.text.append(text);
    if (track_) out_.origin.insert(out_.origin.end(), text.size(), at_);
  }

  void advance(std::size_t length) {
    check_(10);
    rest_.remove_prefix(length);
    at_ += length;
  }

  void finish() {
    if (track_) out_.origin.push_back(at_);
  }

  const SentencePieceNormalizer& normalizer_;
  std::string_view rest_;
  std::size_t at_;
  bool track_;
  std::size_t limit_;
  bool behind_space_ = true;  // spaces at the beginning are superfluous
  AlignedText& out_;
  core::StopCheck check_{"encoding a text"};
};

SentencePieceNormalizer::SentencePieceNormalizer(SentencePieceNormalization options,
                                                 const std::vector<std::string_view>& symbols, const std::string& name)
    : options_(std::move(options)), space_(options_.escape_spaces ? kWordMark : " "), symbols_(trie_of(symbols)) {
  if (!options_.character_map.empty()) map_.emplace(options_.character_map, name);
  options_.character_map.clear();  // the map has its own copy
}

void SentencePieceNormalizer::apply(std::string_view text, std::size_t begin, bool track, AlignedText& out) const {
  out.text.clear();
  out.origin.clear();
  Run(*this, text, begin, track, out).normalize();
}

SentencePieceNormalizer::Prefix SentencePieceNormalizer::normalize_prefix(std::string_view text) const noexcept {
  if (const std::size_t length = symbols_.longest_prefix(text).length; length > 0)
    return {text.substr(0, length), length};
  if (map_) {
    const CharacterMap::Match match = map_->longest_prefix(text);
    if (match.length > 0) return {match.replacement, match.length};
  }
  const core::DecodedCharacter character = core::decode_utf8(text, 0);
  if (!character.valid) return {kReplacementCharacter, 1};
  return {text.substr(0, character.length), character.length};
}

}  // namespace dragoman::tokenizer
