#include "target_terms.h"

#include "pipeline/glossary.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;

constexpr std::size_t kMaxBytesOfTerm = 1000;

void require_known(const ModelView& model, const std::vector<std::int32_t>& tokens, std::string_view text) {
  core::require(std::ranges::find(tokens, model.model->spec().unknown) == tokens.end(), ErrorCode::kInvalidArgument,
                "{} has characters that the model's target vocabulary does not have", core::quote(text));
}

/// Returns the tokens of the term after a word and a space. Empty if the tokenizer does not separate it from that word.
std::vector<std::int32_t> tokens_behind_a_word(const tokenizer::Tokenizer& tokenizer, std::string_view term) {
  constexpr std::string_view kWord = "a";
  const std::string text = std::string(kWord).append(" ").append(term);
  std::vector<std::int32_t> tokens;
  std::size_t begin = text.size();
  for (const tokenizer::Piece& piece : tokenizer.encode_pieces(text)) {
    if (piece.begin < kWord.size()) continue;
    begin = std::min(begin, piece.begin);
    tokens.push_back(piece.id);
  }
  return begin <= kWord.size() + 1 ? tokens : std::vector<std::int32_t>();
}

/// Finds word boundaries in the text of the tokens.
class TextBoundaries final : public decoding::WordBoundaries {
 public:
  explicit TextBoundaries(const tokenizer::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  bool joined(std::span<const std::int32_t> before, std::span<const std::int32_t> after) const override {
    const std::string left = tokenizer_.decode(before);
    std::vector<std::int32_t> both(before.begin(), before.end());
    both.insert(both.end(), after.begin(), after.end());
    const std::string text = tokenizer_.decode(both);
    if (left.empty() || text.size() <= left.size() || !text.starts_with(left)) return false;
    return within_a_word(last_character(left), core::decode_utf8(text, left.size()).code_point);
  }

 private:
  static char32_t last_character(std::string_view text) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
    return core::decode_utf8(text, begin).code_point;
  }

  const tokenizer::Tokenizer& tokenizer_;
};

}  // namespace

std::shared_ptr<const decoding::WordBoundaries> target_word_boundaries(const tokenizer::Tokenizer& tokenizer) {
  return std::make_shared<const TextBoundaries>(tokenizer);
}

bool meets_constraints(const decoding::SearchPlan& search) {
  return search.strategy()->takes_constraints();
}

TermTokens term_tokens(const ModelView& model, std::string_view term) {
  term = core::trim_white_space(term);
  core::require(!term.empty(), ErrorCode::kInvalidArgument, "a blank text is no term");
  core::require(term.size() <= kMaxBytesOfTerm, ErrorCode::kInvalidArgument, "{} has {} bytes; terms have at most {}",
                core::quote(term), term.size(), kMaxBytesOfTerm);
  core::require(core::find_invalid_utf8(term) == std::string_view::npos, ErrorCode::kInvalidArgument,
                "{} is not valid UTF-8", core::quote(term));
  TermTokens tokens{.first = model.target_tokenizer->encode(term),
                    .inside = tokens_behind_a_word(*model.target_tokenizer, term)};
  if (tokens.inside.empty()) tokens.inside = tokens.first;
  core::require(!tokens.first.empty(), ErrorCode::kInvalidArgument, "the tokenizer makes nothing of {}",
                core::quote(term));
  require_known(model, tokens.first, term);
  require_known(model, tokens.inside, term);
  return tokens;
}

std::vector<std::int32_t> prefix_tokens(const ModelView& model, std::string_view text) {
  if (text.empty()) return {};
  const nn::SequenceSpec& spec = model.model->spec();
  std::vector<std::int32_t> tokens = model.target_tokenizer->encode(text, {.match_special_tokens = true});
  const auto most = static_cast<std::size_t>(spec.maximum_target_length - 1);
  core::require(tokens.size() <= most, ErrorCode::kInvalidArgument,
                "the target prefix has {} tokens, and translations have at most {}", tokens.size(), most);
  core::require(std::ranges::find(tokens, spec.end) == tokens.end(), ErrorCode::kInvalidArgument,
                "the target prefix holds {}, which ends a translation", model.target_tokenizer->piece(spec.end));
  if (std::ranges::find(tokens, spec.unknown) != tokens.end()) require_known(model, tokens, text);
  return tokens;
}

void add_suppressed(const ModelView& model, const std::vector<std::string>& texts, decoding::DecodingOptions& options) {
  for (const std::string& text : texts) {
    TermTokens tokens = term_tokens(model, text);
    const bool same = tokens.first == tokens.inside;
    options.suppressed.push_back(std::move(tokens.inside));
    if (!same) options.suppressed.push_back(std::move(tokens.first));
  }
}

std::vector<std::string> read_suppress_file(const std::filesystem::path& path) {
  std::vector<std::string> texts;
  if (path.empty()) return texts;
  core::LineReader lines(path);
  for (std::string line; lines.next(line);) {
    core::require(core::find_invalid_utf8(line) == std::string::npos, ErrorCode::kBadInput,
                  "{}: line {} is not valid UTF-8", lines.name(), lines.line_number());
    const std::string_view text = core::trim_white_space(line);
    core::require(text.size() <= kMaxBytesOfTerm, ErrorCode::kBadInput,
                  "{}: line {} has {} bytes; a text to suppress has at most {}", lines.name(), lines.line_number(),
                  text.size(), kMaxBytesOfTerm);
    if (!text.empty()) texts.emplace_back(text);
  }
  return texts;
}

}  // namespace dragoman::pipeline
