#include "learn_reproduced.h"

#include "dragoman/tokenizer/learn_bpe.h"
#include "formats/subword_nmt.h"
#include "reproducing/package_words.h"
#include "reproducing/subword_nmt_learner.h"
#include "reproducing/tokenizers_learner.h"

#include <algorithm>
#include <map>
#include <set>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

/// How many merges pass between looks at the stop request and reports of progress.
constexpr std::size_t kReportInterval = 256;

/// What all calls share: files to words, and reports on the way.
class Reproduction {
 public:
  Reproduction(const WordSource& source, const LearnOptions& options, const core::ProgressSink& progress,
               const core::LogSink& log, const std::stop_token& stop)
      : source_(source), options_(options), progress_(progress), log_(log), stop_(stop), arena_(options.threads) {}

  WordCounts count_words() {
    CountedWords words = collect_words(source_, MemoryPlan::of(options_.threads), arena_, progress_, stop_);
    const std::uint64_t distinct = words.in_memory.total().words;
    require(distinct > 0, ErrorCode::kBadInput, "{}: no words to learn from", source_.files.front().string());
    core::log(log_, core::LogLevel::kInfo,
              fmt::format("{} distinct {}", distinct, source_.whole_lines ? "lines" : "words"));
    return std::move(words.in_memory);
  }
  ThreadArena& arena() { return arena_; }
  const LearnOptions& options() const { return options_; }

  void report(std::size_t done, std::size_t total, const char* unit) const {
    if (done % kReportInterval != 0) return;
    require(!stop_.stop_requested(), ErrorCode::kInterrupted, "interrupted while learning merges; nothing was written");
    core::report(progress_, {.stage = "learn merges", .done = done, .total = total, .unit = unit, .figures = {}});
  }
  void warn_if_short(std::size_t done, std::size_t wanted, const char* unit) const {
    if (done < wanted)
      core::log(log_, core::LogLevel::kWarning,
                fmt::format("no further pair occurs {} times or more: learned {} {} instead of {}",
                            std::max<std::uint64_t>(options_.min_frequency, 1), done, unit, wanted));
  }

 private:
  const WordSource& source_;
  const LearnOptions& options_;
  const core::ProgressSink& progress_;
  const core::LogSink& log_;
  const std::stop_token& stop_;
  ThreadArena arena_;
};

void require_unset(bool is_unset, std::string_view option, std::string_view reason) {
  require(is_unset, ErrorCode::kInvalidArgument, "{} does not go with the reproduction of another program: {}", option,
          reason);
}

void check_common_options(const LearnOptions& o) {
  require_unset(o.character_coverage == 1, "a character coverage", "it has no such option");
  require_unset(o.user_symbols.empty(), "a user-defined symbol", "it does not take them into account in learning");
  require_unset(o.normalization == Normalization::kNone && !o.lowercase, "normalisation",
                "its Unicode tables may be others than ours; normalise the text first");
  require_unset(o.word_marks, "learning without word marks", "how words are cut is an option of the reproduction");
  require_unset(o.min_word_count == 1, "a least word count",
                "it learns from all words; leave rare ones out with "
                "count-words --min-count and learn from --counts");
  require_unset(!o.split_digits, "cutting at digits", "it has no such option");
  require_unset(!o.split_case, "cutting at changes of case", "it has no such option");
  require_unset(!o.split_punctuation, "cutting at punctuation", "it has no such option");
  require_unset(o.protected_patterns.empty(), "a protected pattern", "it has no such option");
  require_unset(o.smallest_vocab_size == 0 || o.smallest_vocab_size == o.vocab_size, "more than one vocabulary size",
                "learn each by itself");
  require_unset(o.memory.bytes == 0, "a memory limit", "its words must lie in memory; leave the limit out");
}

// ---- subword-nmt

std::size_t merges_wanted(const ReproduceSubwordNmt& package, const SymbolWords& words) {
  const auto merges = static_cast<std::size_t>(package.merges);
  if (!package.total_symbols) return merges;
  std::set<std::int32_t> characters;  // those at the end of a word are others
  for (std::uint32_t word = 0; word < words.size(); ++word)
    characters.insert(words.symbols(word).begin(), words.symbols(word).end());
  return merges - std::min(merges, characters.size());
}

BpeTokenizer learn_like(const ReproduceSubwordNmt& package, Reproduction& reproduction) {
  const LearnOptions& options = reproduction.options();
  require(package.merges >= 0, ErrorCode::kInvalidArgument, "the number of merges is {}; it must not be negative",
          package.merges);
  require(options.min_frequency >= 1, ErrorCode::kInvalidArgument,
          "a least frequency of 0 would repeat one merge without end, in subword-nmt, too; it must be at least 1");
  require_unset(options.special_tokens == LearnOptions().special_tokens, "a list of special tokens",
                "codes have none; their ids are ours, and <unk> is the first");
  require_unset(options.vocab_size == LearnOptions().vocab_size, "a vocabulary size",
                "subword-nmt is told a number of merges");
  SymbolNames names;
  SymbolWords words = subword_nmt_words(reproduction.count_words(), names);
  const std::size_t wanted = merges_wanted(package, words);
  SubwordNmtLearner learner(std::move(words), names);
  const auto pairs = learner.learn(wanted, static_cast<std::int64_t>(options.min_frequency),
                                   [&](std::size_t done) { reproduction.report(done, wanted, "merges"); });
  reproduction.warn_if_short(pairs.size(), wanted, "merges");
  std::string codes = "#version: 0.2\n";
  for (const SymbolPair& pair : pairs) codes += fmt::format("{} {}\n", names[pair.left], names[pair.right]);
  return BpeTokenizer(read_codes(codes, FileKind::kSubwordNmt, "learned codes", {}), "learned codes");
}

// ---- tokenizers

using Words = ReproduceTokenizers::Words;

bool cuts_at_spaces(const ReproduceTokenizers& package) {
  return package.words == Words::kSpaces || package.words == Words::kWhiteSpace;
}

void check_options(const ReproduceTokenizers& package, const WordSource& source) {
  require(package.words != Words::kByteLevel || source.kind == WordSource::Kind::kTexts, ErrorCode::kInvalidArgument,
          "byte-level words cannot be learned from counts: a word of a count file does not say how many spaces stood "
          "before it; learn from the text");
  require(package.end_of_word_suffix.empty() || cuts_at_spaces(package), ErrorCode::kInvalidArgument,
          "an end-of-word suffix goes with words at spaces, not with word marks or bytes, which keep the spaces");
  require(core::find_invalid_utf8(package.end_of_word_suffix) == std::string::npos, ErrorCode::kInvalidArgument,
          "the end-of-word suffix is not valid UTF-8");
}

CharacterText marked_words() {
  using Kind = NormalizerStep::Kind;
  return {.normalizer = {{Kind::kPrepend, {}, kWordMark}, {Kind::kReplace, " ", kWordMark}},
          .pre_tokenizer = SplitBefore{.mark = kWordMark},
          .decoder = DecoderSteps{.replacements = {{kWordMark, " "}}, .strip = Strip{.character = " "}}};
}

TextDefinition text_of(const ReproduceTokenizers& package) {
  if (package.words == Words::kMetaspace) return marked_words();
  if (package.words == Words::kByteLevel)
    return ByteLevelText{.add_prefix_space = package.add_prefix_space, .pattern = WordPattern::kGpt2};
  const bool between_white_space = package.words == Words::kWhiteSpace;
  if (!package.end_of_word_suffix.empty())
    return SuffixedText{.between_white_space = between_white_space, .suffix = package.end_of_word_suffix};
  if (between_white_space) return CharacterText{.pre_tokenizer = WhitespaceSplit()};
  return CharacterText{.pre_tokenizer = SplitBetween{.separator = " "}};
}

void add_special_tokens(BpeDefinition& definition, SymbolNames& names, const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) {
    require(!names.contains(token), ErrorCode::kInvalidArgument, "the special token '{}' is given twice", token);
    require(!token.empty() && core::decode_utf8(token, 0).length < token.size(), ErrorCode::kInvalidArgument,
            "the special token '{}' is not at least two characters long; it would come up wherever that character "
            "stands in the text",
            token);
    const std::int32_t id = names.id(token);
    if (token == "<unk>") definition.unknown = id;
    definition.added_tokens.push_back({id, true});
  }
}

/// All characters that the trainer is to keep, those of an initial alphabet before any other.
std::vector<char32_t> choose_alphabet(const ReproduceTokenizers& package, std::vector<CharacterCount> counts) {
  std::vector<char32_t> alphabet;
  if (package.words == Words::kByteLevel && package.all_bytes)
    for (int byte = 0; byte < 256; ++byte)
      alphabet.push_back(core::decode_utf8(to_byte_alphabet(std::string(1, static_cast<char>(byte))), 0).code_point);
  for (const CharacterCount& entry : counts)
    if (std::ranges::find(alphabet, entry.character) == alphabet.end()) alphabet.push_back(entry.character);
  if (package.limit_alphabet) alphabet.resize(std::min(alphabet.size(), *package.limit_alphabet));
  return alphabet;
}

/// A pair that was merged several times has its last rank: so the trainer's table of merges keeps it.
void add_merges(BpeDefinition& definition, const std::vector<SymbolPair>& pairs, SymbolNames& names) {
  std::map<std::uint64_t, std::size_t> last;
  for (std::size_t i = 0; i < pairs.size(); ++i) last[pair_key(pairs[i].left, pairs[i].right)] = i;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (last[pair_key(pairs[i].left, pairs[i].right)] == i)
      definition.merges.push_back({pairs[i].left, pairs[i].right, names.joined(pairs[i].left, pairs[i].right)});
  for (std::size_t id = 0; id < names.size(); ++id) definition.pieces.push_back(names[static_cast<std::int32_t>(id)]);
}

BpeTokenizer learn_like(const ReproduceTokenizers& package, Reproduction& reproduction) {
  const LearnOptions& options = reproduction.options();
  BpeDefinition definition;
  definition.text = text_of(package);
  WordCounts words = reproduction.count_words();
  if (package.words != Words::kSpaces) words = split_words(words, definition, reproduction.arena());
  const bool byte_level = package.words == Words::kByteLevel;
  SymbolNames names;
  add_special_tokens(definition, names, options.special_tokens);
  const std::vector<char32_t> alphabet = choose_alphabet(package, count_characters(words, byte_level));
  TokenizersLearner learner(lay_out_words(words, byte_level, alphabet, package.end_of_word_suffix, names), names);
  const auto wanted = static_cast<std::size_t>(options.vocab_size);
  const TokenizersLearner::Options limits = {
      .vocab_size = wanted, .min_frequency = options.min_frequency, .max_token_length = package.max_token_length};
  const auto pairs = learner.learn(limits, [&](std::size_t done) { reproduction.report(done, wanted, "pieces"); });
  reproduction.warn_if_short(names.size(), wanted, "pieces");
  add_merges(definition, pairs, names);
  return BpeTokenizer(std::move(definition), "learned vocabulary");
}

}  // namespace

BpeTokenizer learn_reproduced(const WordSource& source, const LearnOptions& options, const core::ProgressSink& progress,
                              const core::LogSink& log, const std::stop_token& stop) {
  check_common_options(options);
  if (const auto* package = std::get_if<ReproduceSubwordNmt>(&options.reproduce)) {
    Reproduction reproduction(source, options, progress, log, stop);
    return learn_like(*package, reproduction);
  }
  const auto& package = std::get<ReproduceTokenizers>(options.reproduce);
  check_options(package, source);
  WordSource lines = source;
  lines.whole_lines = package.words == Words::kByteLevel;
  Reproduction reproduction(lines, options, progress, log, stop);
  return learn_like(package, reproduction);
}

}  // namespace dragoman::tokenizer
