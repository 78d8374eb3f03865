#include "rank_tokenizer.h"

#include "composed/composed_tokenizer.h"
#include "formats/byte_level.h"

#include <algorithm>

namespace dragoman::tokenizer {

std::string expression_of_ranks(std::string_view content, const ReadOptions& options) {
  constexpr auto kTokensOfO200k = 199'998;
  if (!options.expression.empty() || options.pattern) return options.expression;
  const auto tokens = std::ranges::count(content, '\n') + (content.ends_with('\n') ? 0 : 1);
  return tokens == kTokensOfO200k ? word_expression(kO200kName) : std::string();
}

std::unique_ptr<Tokenizer> open_ranks(const std::filesystem::path& path, const std::string& content,
                                      const ReadOptions& options, const std::string& expression) {
  BpeDefinition ranks = read_tiktoken(content, path.string(), options);
  ranks.text = CharacterText();
  ComposedDefinition definition;
  definition.pieces = ranks.pieces;
  definition.listed.assign(ranks.pieces.size(), true);
  definition.pre_tokenizer = {{.kind = PreTokenizerStep::Kind::kSplitPattern,
                               .text = expression,
                               .behavior = SplitBehavior::kRemoved,
                               .invert = true},
                              {.kind = PreTokenizerStep::Kind::kByteAlphabet}};
  definition.model = MergesOfWords{std::move(ranks)};
  definition.decoder = {{.kind = DecoderStep::Kind::kByteLevel}};
  return std::make_unique<ComposedTokenizer>(std::move(definition), path.string());
}

}  // namespace dragoman::tokenizer
