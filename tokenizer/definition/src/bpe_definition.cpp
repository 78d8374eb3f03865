#include "dragoman/tokenizer/bpe_definition.h"

namespace dragoman::tokenizer {

bool InnerCuts::spaces_apart() const {
  static const std::string kLast = std::string("|") + kWordMark;
  return protected_pattern == kWordMark ||
         (protected_pattern.ends_with(kLast) && !protected_pattern.ends_with("\\" + kLast));
}

const NormalizerSteps& BpeDefinition::normalizer() const {
  static const NormalizerSteps kNone;
  return std::visit(
      [](const auto& kind) -> const NormalizerSteps& {
        if constexpr (requires { kind.normalizer; })
          return kind.normalizer;
        else
          return kNone;
      },
      text);
}

const Metaspace* BpeDefinition::metaspace() const {
  const auto* characters = std::get_if<CharacterText>(&text);
  return characters == nullptr ? nullptr : std::get_if<Metaspace>(&characters->pre_tokenizer);
}

const InnerCuts& BpeDefinition::inner_cuts() const {
  static const InnerCuts kNone;
  static const InnerCuts kDigits{.digits = true};
  const auto* sentencepiece = std::get_if<SentencePieceText>(&text);
  if (sentencepiece != nullptr && sentencepiece->split_digits) return kDigits;
  const auto* characters = std::get_if<CharacterText>(&text);
  const auto* split = characters == nullptr ? nullptr : std::get_if<SplitBefore>(&characters->pre_tokenizer);
  return split == nullptr ? kNone : split->inner;
}

const Codes* BpeDefinition::codes() const {
  const auto* words = std::get_if<SuffixedText>(&text);
  return words == nullptr || !words->codes ? nullptr : &*words->codes;
}

bool BpeDefinition::byte_fallback() const {
  return std::visit(
      [](const auto& kind) {
        if constexpr (requires { kind.byte_fallback; })
          return kind.byte_fallback;
        else
          return false;
      },
      text);
}

const DecoderSteps* BpeDefinition::decoder_steps() const {
  const auto* characters = std::get_if<CharacterText>(&text);
  return characters == nullptr ? nullptr : std::get_if<DecoderSteps>(&characters->decoder);
}

DecoderSteps* BpeDefinition::decoder_steps() {
  auto* characters = std::get_if<CharacterText>(&text);
  return characters == nullptr ? nullptr : std::get_if<DecoderSteps>(&characters->decoder);
}

bool BpeDefinition::words_begin_at_marks() const {
  const auto* characters = std::get_if<CharacterText>(&text);
  const auto* split = characters == nullptr ? nullptr : std::get_if<SplitBefore>(&characters->pre_tokenizer);
  return split != nullptr && split->mark == kWordMark;
}

}  // namespace dragoman::tokenizer
