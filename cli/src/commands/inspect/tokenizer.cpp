#include "tokenizer.h"

#include "inspector.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/byte_pieces.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::cli {
namespace {

using core::printable;

std::string_view name_of(tokenizer::NormalizerStep::Kind kind) {
  using Kind = tokenizer::NormalizerStep::Kind;
  switch (kind) {
    case Kind::kNfc:
      return "NFC";
    case Kind::kNfd:
      return "NFD";
    case Kind::kNfkc:
      return "NFKC";
    case Kind::kNfkd:
      return "NFKD";
    case Kind::kLowercase:
      return "lower case";
    case Kind::kPrepend:
      return "prepend";
    case Kind::kReplace:
      return "replace";
    case Kind::kTrimStart:
      return "trim the start of";
    case Kind::kTrimEnd:
      return "trim the end of";
    case Kind::kSqueeze:
      return "squeeze runs of";
    case Kind::kPrecompiled:
      return "character map of clusters (Precompiled)";
  }
  return "?";
}

std::string describe(const tokenizer::NormalizerStep& step) {
  using Kind = tokenizer::NormalizerStep::Kind;
  std::string text(name_of(step.kind));
  if (step.kind == Kind::kReplace)
    text += fmt::format(" '{}' by '{}'", printable(step.pattern), printable(step.content));
  if (step.kind == Kind::kTrimStart || step.kind == Kind::kTrimEnd || step.kind == Kind::kSqueeze)
    text += fmt::format(" '{}'", printable(step.pattern));
  if (step.kind == Kind::kPrepend) text += fmt::format(" '{}'", printable(step.content));
  return text;
}

std::string normalization(const tokenizer::BpeDefinition& definition) {
  std::vector<std::string> steps;
  if (const auto* text = std::get_if<tokenizer::SentencePieceText>(&definition.text)) {
    const tokenizer::SentencePieceNormalization& sentencepiece = text->normalization;
    steps.push_back(fmt::format("SentencePiece '{}'", printable(sentencepiece.name)));
    if (sentencepiece.remove_extra_spaces) steps.emplace_back("without extra spaces");
    if (sentencepiece.dummy_prefix)
      steps.emplace_back(sentencepiece.space_as_suffix ? "a space behind" : "a space in front");
    if (sentencepiece.escape_spaces) steps.push_back(fmt::format("spaces as '{}'", tokenizer::kWordMark));
  }
  for (const auto& step : definition.normalizer()) steps.push_back(describe(step));
  if (definition.metaspace() != nullptr)
    steps.push_back(fmt::format("spaces as '{}' (Metaspace)", tokenizer::kWordMark));
  return steps.empty() ? "none" : fmt::format("{}", fmt::join(steps, ", "));
}

std::string special_tokens(const tokenizer::Tokenizer& tokenizer) {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> tokens;
  std::size_t count = 0;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.is_special(id) && ++count <= kShown)
      tokens.push_back(fmt::format("{} {}", id, printable(tokenizer.piece(id))));
  if (count > kShown) tokens.push_back(fmt::format("and {} more", count - kShown));
  return tokens.empty() ? "none" : fmt::format("{}", fmt::join(tokens, ", "));
}

struct DescribeWords {
  std::string operator()(const tokenizer::CharacterText& text) const { return std::visit(*this, text.pre_tokenizer); }
  std::string operator()(const tokenizer::SplitBefore& split) const {
    return split.inner.spaces_apart() ? "stand between spaces, which are pieces of their own" : begin_at(split.mark);
  }
  std::string operator()(const tokenizer::SplitBetween& split) const {
    return fmt::format("stand between '{}'", printable(split.separator));
  }
  std::string operator()(const tokenizer::WhitespaceSplit&) const { return "stand between white space"; }
  std::string operator()(const tokenizer::Metaspace& metaspace) const { return at_word_marks(metaspace.split); }

  std::string operator()(const tokenizer::SuffixedText& text) const {
    return text.between_white_space ? (*this)(tokenizer::WhitespaceSplit()) : (*this)(tokenizer::SplitBetween{" "});
  }
  std::string operator()(const tokenizer::ByteLevelText& text) const {
    if (!text.pattern) return begin_at("");
    switch (*text.pattern) {
      case tokenizer::WordPattern::kGpt2:
        return "by the pattern of GPT-2";
      case tokenizer::WordPattern::kCl100k:
        return "by the pattern of cl100k_base";
      case tokenizer::WordPattern::kCl100kVariant:
        return "by the earlier pattern of cl100k_base";
    }
    return "?";
  }
  std::string operator()(const tokenizer::SentencePieceText& text) const { return at_word_marks(text.split_at_marks); }

 private:
  static std::string at_word_marks(bool split) { return begin_at(split ? tokenizer::kWordMark : ""); }
  static std::string begin_at(std::string_view mark) {
    return mark.empty() ? "the whole line is one" : fmt::format("begin at '{}'", printable(mark));
  }
};

std::string words(const tokenizer::BpeDefinition& definition) {
  return std::visit(DescribeWords(), definition.text);
}

std::string user_symbols(const tokenizer::BpeDefinition& definition) {
  std::vector<std::string> symbols;
  for (const auto& token : definition.added_tokens)
    if (!token.special) symbols.push_back(printable(definition.pieces[static_cast<std::size_t>(token.id)]));
  return fmt::format("{}", fmt::join(symbols, " "));
}

std::string cuts_inside(const tokenizer::BpeDefinition& definition) {
  const tokenizer::InnerCuts& cuts = definition.inner_cuts();
  std::string text = cuts.digits ? ", and at each digit" : "";
  if (cuts.letter_case) text += ", and between lower and upper case";
  if (cuts.punctuation) text += ", and between letters, numbers and other characters";
  return text;
}

core::Json user_symbol_list(const tokenizer::BpeDefinition& definition) {
  core::Json list = core::Json::array();
  for (const auto& token : definition.added_tokens)
    if (!token.special) list.push_back(definition.pieces[static_cast<std::size_t>(token.id)]);
  return list;
}

void add_bpe(Report& report, const tokenizer::BpeDefinition& definition) {
  report.add("merges", definition.merges.size());
  report.add("byte_fallback", definition.byte_fallback(), definition.byte_fallback() ? "on" : "off");
  report.add_value("byte_level", std::holds_alternative<tokenizer::ByteLevelText>(definition.text));
  report.add("normalisation", normalization(definition));
  report.add("words", words(definition), words(definition) + cuts_inside(definition));
  const tokenizer::InnerCuts& cuts = definition.inner_cuts();
  report.add_value("split_digits", cuts.digits);
  report.add_value("split_case", cuts.letter_case);
  report.add_value("split_punctuation", cuts.punctuation);
  report.add_value("protected_pattern", cuts.protected_pattern);
  if (!cuts.protected_pattern.empty() && cuts.protected_pattern != tokenizer::kWordMark)
    report.add_row("protected", printable(cuts.protected_pattern));
  report.add_value("user_symbols", user_symbol_list(definition));
  if (const std::string symbols = user_symbols(definition); !symbols.empty()) report.add_row("user symbols", symbols);
}

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

/// The ids of ordinary pieces: those that the corpus uses, by descending frequency and then by id, and the others.
struct PieceUse {
  std::vector<std::int32_t> used;
  std::vector<std::int32_t> unused;
};

PieceUse piece_use(const tokenizer::Tokenizer& tokenizer, const tokenizer::CorpusStatistics& statistics) {
  const auto count = [&](std::int32_t id) { return statistics.piece_counts[static_cast<std::size_t>(id)]; };
  PieceUse use;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    if (count(id) > 0)
      use.used.push_back(id);
    else if (!tokenizer.is_special(id) && !tokenizer::byte_of_piece(std::string(tokenizer.piece(id))))
      use.unused.push_back(id);
  }
  std::ranges::stable_sort(use.used, [&](std::int32_t a, std::int32_t b) { return count(a) > count(b); });
  return use;
}

constexpr std::size_t kShown = 10;

/// Returns the first pieces of a list as `PIECE COUNT`, or without the count for unused pieces.
std::string first_pieces(std::vector<std::int32_t> ids, const tokenizer::Tokenizer& tokenizer,
                         const tokenizer::CorpusStatistics& statistics) {
  ids.resize(std::min(ids.size(), kShown));
  std::vector<std::string> shown;
  for (const std::int32_t id : ids)
    if (const auto count = statistics.piece_counts[static_cast<std::size_t>(id)]; count > 0)
      shown.push_back(fmt::format("{} {}", printable(tokenizer.piece(id)), count));
    else
      shown.push_back(printable(tokenizer.piece(id)));
  return fmt::format("{}", fmt::join(shown, ", "));
}

core::Json counted_pieces(const std::vector<std::int32_t>& ids, const tokenizer::Tokenizer& tokenizer,
                          const tokenizer::CorpusStatistics& statistics) {
  core::Json list = core::Json::array();
  for (std::size_t i = 0; i < std::min(ids.size(), kShown); ++i)
    list.push_back({{"id", ids[i]},
                    {"piece", tokenizer.piece(ids[i])},
                    {"count", statistics.piece_counts[static_cast<std::size_t>(ids[i])]}});
  return list;
}

std::string describe(const tokenizer::Histogram& histogram) {
  return fmt::format("mean {:.3f}, p50 {}, p99 {}, max {}", histogram.mean(), histogram.quantile(0.5),
                     histogram.quantile(0.99), histogram.max());
}

core::Json to_json(const tokenizer::Histogram& histogram) {
  return {{"mean", histogram.mean()},
          {"p50", histogram.quantile(0.5)},
          {"p99", histogram.quantile(0.99)},
          {"max", histogram.max()}};
}

core::Json special_token_list(const tokenizer::Tokenizer& tokenizer) {
  core::Json list = core::Json::array();
  for (std::int32_t id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.is_special(id)) list.push_back({{"id", id}, {"piece", tokenizer.piece(id)}});
  return list;
}

}  // namespace

bool is_tokenizer(const std::filesystem::path& path) {
  constexpr std::size_t kEnough = 4096;
  std::string head = first_bytes(path, kEnough);
  if (head.size() == kEnough && head.find('\n') != std::string::npos) head.resize(head.rfind('\n') + 1);
  try {
    tokenizer::recognise(path, head);
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

Report describe_tokenizer_file(const std::filesystem::path& path, const InspectOptions& options) {
  constexpr std::size_t kEnough = 1 << 16;
  Report report;
  report.add("format", tokenizer::name_of(tokenizer::recognise(path, core::read_beginning(path, kEnough))));
  report.append(describe_tokenizer(*tokenizer::open_tokenizer_file(path, {.log = options.log}), "tokenizer"));
  return report;
}

Report describe_tokenizer(const tokenizer::Tokenizer& tokenizer, const std::string& label) {
  const auto* bpe = dynamic_cast<const tokenizer::BpeTokenizer*>(&tokenizer);
  const bool unigram = dynamic_cast<const tokenizer::UnigramTokenizer*>(&tokenizer) != nullptr;
  const std::string kind = bpe != nullptr ? "BPE" : unigram ? "unigram" : "of parts, a plugin or a dictionary";
  Report report;
  report.add_value("model", kind);
  report.add_value("pieces", tokenizer.size());
  report.add_row(label, fmt::format("{}, {} pieces", kind, tokenizer.size()));
  report.add("special_tokens", special_token_list(tokenizer), special_tokens(tokenizer));
  if (bpe != nullptr) add_bpe(report, bpe->definition());
  return report;
}

Report describe_corpus(const tokenizer::Tokenizer& tokenizer, const tokenizer::CorpusStatistics& s) {
  const PieceUse use = piece_use(tokenizer, s);
  const std::vector<std::int32_t> rarest(use.used.rbegin(), use.used.rend());
  Report report;
  report.add_row("corpus",
                 fmt::format("{} lines, {} words, {} characters, {} bytes", s.lines, s.words, s.characters, s.bytes));
  report.add_value("lines", s.lines);
  report.add_value("words", s.words);
  report.add_value("characters", s.characters);
  report.add_value("bytes", s.bytes);
  report.add_value("pieces", s.pieces);
  report.add_value("characters_per_piece", share(s.characters, s.pieces));
  report.add_row("pieces of the corpus",
                 fmt::format("{}, {:.3f} characters each", s.pieces, share(s.characters, s.pieces)));
  report.add("pieces_per_word", to_json(s.pieces_per_word), describe(s.pieces_per_word));
  report.add("pieces_per_line", to_json(s.pieces_per_line), describe(s.pieces_per_line));
  report.add_value("unknown_share", share(s.unknown_pieces, s.pieces));
  report.add_row("unknown",
                 fmt::format("{} pieces, {:.4f}%", s.unknown_pieces, 100 * share(s.unknown_pieces, s.pieces)));
  report.add_value("byte_share", share(s.byte_pieces, s.pieces));
  report.add_row("bytes", fmt::format("{} pieces, {:.4f}%", s.byte_pieces, 100 * share(s.byte_pieces, s.pieces)));
  report.add("most_frequent", counted_pieces(use.used, tokenizer, s), first_pieces(use.used, tokenizer, s));
  report.add("rarest", counted_pieces(rarest, tokenizer, s), first_pieces(rarest, tokenizer, s));
  report.add_value("unused", use.unused);
  report.add_row("never used", fmt::format("{}, without special tokens and bytes{}{}", use.unused.size(),
                                           use.unused.empty() ? "" : ": ", first_pieces(use.unused, tokenizer, s)));
  return report;
}

}  // namespace dragoman::cli
