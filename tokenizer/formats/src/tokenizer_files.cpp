#include "dragoman/tokenizer/tokenizer_files.h"

#include "composed/composed_tokenizer.h"
#include "definition/escapes.h"
#include "dictionary_tokenizer.h"
#include "formats/byte_level.h"
#include "formats/subword_nmt.h"
#include "formats/youtokentome.h"
#include "gpt2_files.h"
#include "json/tokenizer_json.h"
#include "piece_counts.h"
#include "rank_tokenizer.h"
#include "sentencepiece/in_steps.h"
#include "sentencepiece/sentencepiece_files.h"
#include "text_fields.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/named_file.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

constexpr std::string_view kMapsClusters =
    "the library tokenizers looks single clusters of characters up in the character map, and drops what the rule for "
    "the beginning of one does not hold, so texts with such clusters, or with what a rule for several has, may get "
    "other ids than from the SentencePiece model";

constexpr std::uint64_t kLargestFile = TokenizerFile::kLargest;

std::string read_content(const std::filesystem::path& path) {
  return without_byte_order_mark(core::read_file(path, kLargestFile));
}

Dictionary read_dictionary(const std::filesystem::path& path) {
  const std::string text = read_content(path);
  const std::string extension = path.extension().string();
  const bool marian = extension == ".yml" || extension == ".yaml" || extension == ".json";
  return marian ? parse_marian_dictionary(text, path.string()) : parse_fairseq_dictionary(text, path.string());
}

/// Rejects options that have no effect on files of this kind, because the user expects an effect.
void check_options(const ReadOptions& options, FileKind kind, const std::filesystem::path& path) {
  if (options.for_several) return;
  const bool codes = kind == FileKind::kSubwordNmt || kind == FileKind::kFastBpe;
  const ReadOptions usual;
  const auto check = [&](bool condition, std::string_view what, std::string_view kinds) {
    require(condition, ErrorCode::kInvalidArgument, "{}: {} with {}, and this is {}; leave it out", path.string(), what,
            kinds, name_of(kind));
  };
  constexpr std::string_view kCodes = "codes of subword-nmt or fastBPE";
  check(codes || kind == FileKind::kSentencePiece || options.vocabulary.empty(), "a vocabulary goes",
        "codes of subword-nmt or fastBPE or SentencePiece models");
  check(codes || options.separator == usual.separator, "a separator goes", kCodes);
  check(kind == FileKind::kTiktoken || (!options.pattern && options.expression.empty()), "a pattern goes",
        "rank files");
  check(kind == FileKind::kSentencePiece || !options.listed, "a number of listed pieces goes", "SentencePiece models");
  require(options.vocabulary_threshold == 0 || !options.vocabulary.empty(), ErrorCode::kInvalidArgument,
          "{}: a threshold of {} goes with a vocabulary", path.string(), options.vocabulary_threshold);
}

/// Rejects properties that only tokenizer.json can represent.
void check_cuts(const BpeDefinition& definition, FileKind kind) {
  const auto check = [&](bool condition, std::string_view what) {
    require(condition, ErrorCode::kUnsupported, "{} has no place for {}; write tokenizer-json", name_of(kind), what);
  };
  const InnerCuts& cuts = definition.inner_cuts();
  check(cuts.protected_pattern != kWordMark, "spaces that are pieces of their own (words without marks)");
  check(cuts.protected_pattern.empty(), "a protected pattern");
  check(!cuts.letter_case, "cutting at changes of case");
  check(!cuts.punctuation, "cutting at punctuation");
}

constexpr std::pair<WordPattern, std::string_view> kPatterns[] = {
    {WordPattern::kGpt2, "gpt2"}, {WordPattern::kCl100k, "cl100k"}, {WordPattern::kCl100kVariant, "cl100k-earlier"}};

/// Reads the options of a kind that configure its file if there is only one file.
ReadOptions read_own_options(FileKind kind, core::OptionReader& own) {
  ReadOptions read{.kind = kind};
  if (kind == FileKind::kSubwordNmt || kind == FileKind::kFastBpe)
    read.separator = own.get("separator", read.separator);
  if (kind == FileKind::kTiktoken && own.has("pattern")) {
    const std::string pattern = own.get("pattern", "");
    read.pattern = word_pattern(pattern);
    if (!read.pattern) read.expression = word_expression(pattern);
  }
  if (kind == FileKind::kSentencePiece && own.has("listed")) {
    read.listed = own.get("listed", std::int32_t{0});
    own.check(*read.listed > 0, "listed", "must be at least 1");
  }
  return read;
}

FileKind kind_of(const std::filesystem::path& path, const std::string& content, const ReadOptions& options) {
  const FileKind kind = options.kind ? *options.kind : recognise(path, content);
  check_options(options, kind, path);
  return kind;
}

template <FileKind kind>
BpeDefinition read_codes_of(const std::filesystem::path& path, const std::string& content, const ReadOptions& options) {
  return read_codes(content, kind, path.string(), options);
}

/// Reads a kind that consists of one file.
template <auto read>
BpeDefinition read_text(const std::filesystem::path& path, const std::string& content, const ReadOptions& options) {
  if constexpr (std::is_invocable_v<decltype(read), const std::string&, const std::string&, const ReadOptions&>)
    return read(content, path.string(), options);
  else
    return read(content, path.string());
}

BpeDefinition read_sentencepiece_file(const std::string& content, const std::string& name, const ReadOptions& options) {
  const auto vocabulary = read_piece_counts(options);
  return read_sentencepiece(content, name, vocabulary ? &*vocabulary : nullptr);
}

BpeDefinition read_json(const std::string& content, const std::string& name, const ReadOptions& options) {
  return read_tokenizer_json(content, name, options.log);
}

std::string write_json_in_steps(const BpeDefinition& definition) {
  return write_tokenizer_json(in_steps(definition));
}

template <auto write>
void write_text(const BpeDefinition& definition, const std::filesystem::path& path) {
  core::write_named_file(path, write(definition));
}

template <auto write>
void check_text(const BpeDefinition& definition) {
  write(definition);
}

[[noreturn]] void refuse_fastbpe(const BpeDefinition&) {
  core::fail(ErrorCode::kUnsupported,
             "codes of fastBPE cannot be written, since the counts in them are not known; write codes of subword-nmt");
}

void refuse_to_write_fastbpe(const BpeDefinition& definition, const std::filesystem::path& /*path*/) {
  refuse_fastbpe(definition);
}

/// The list of all kinds.
struct KnownKind {
  FileKind kind;
  std::string_view name;
  BpeDefinition (*read)(const std::filesystem::path& path, const std::string& content, const ReadOptions& options);
  void (*write)(const BpeDefinition& definition, const std::filesystem::path& path);
  void (*check)(const BpeDefinition& definition);  ///< throws like write, without a file
};
constexpr KnownKind kKinds[] = {
    {FileKind::kTokenizerJson, "tokenizer-json", read_text<read_json>, write_text<write_json_in_steps>,
     check_text<write_json_in_steps>},
    {FileKind::kSubwordNmt, "subword-nmt", read_codes_of<FileKind::kSubwordNmt>, write_text<write_codes>,
     check_text<write_codes>},
    {FileKind::kFastBpe, "fastbpe", read_codes_of<FileKind::kFastBpe>, refuse_to_write_fastbpe, refuse_fastbpe},
    {FileKind::kGpt2, "gpt2", read_gpt2_files, write_gpt2_files, check_text<write_gpt2>},
    {FileKind::kSentencePiece, "sentencepiece", read_text<read_sentencepiece_file>, write_text<write_sentencepiece>,
     check_text<write_sentencepiece>},
    {FileKind::kTiktoken, "tiktoken", read_text<read_tiktoken>, write_text<write_tiktoken>, check_text<write_tiktoken>},
    {FileKind::kYouTokenToMe, "youtokentome", read_text<read_youtokentome>, write_text<write_youtokentome>,
     check_text<write_youtokentome>},
};

const KnownKind& description_of(FileKind kind) {
  const auto* found = std::ranges::find(kKinds, kind, &KnownKind::kind);
  require(found != std::end(kKinds), ErrorCode::kInternal, "a kind of file without a reader");
  return *found;
}

std::unique_ptr<Tokenizer> open_tokenizer_json(const std::filesystem::path& path, const std::string& content,
                                               const core::LogSink& log) {
  auto definition = read_any_tokenizer_json(content, path.string(), log);
  if (auto* merges = std::get_if<BpeDefinition>(&definition))
    return std::make_unique<BpeTokenizer>(std::move(*merges), path.string());
  return std::make_unique<ComposedTokenizer>(std::get<ComposedDefinition>(std::move(definition)), path.string());
}

std::unique_ptr<Tokenizer> open_kind(const std::filesystem::path& path, const std::string& content,
                                     const ReadOptions& options) {
  const FileKind kind = kind_of(path, content, options);
  if (kind == FileKind::kTokenizerJson) return open_tokenizer_json(path, content, options.log);
  if (kind == FileKind::kTiktoken)
    if (const std::string expression = expression_of_ranks(content, options); !expression.empty())
      return open_ranks(path, content, options, expression);
  if (kind == FileKind::kSentencePiece) {
    const auto vocabulary = read_piece_counts(options);
    return open_sentencepiece(content, path.string(), options.listed, vocabulary ? &*vocabulary : nullptr);
  }
  return std::make_unique<BpeTokenizer>(description_of(kind).read(path, content, options), path.string());
}

/// Parts of a tokenizer do not know the file that they are from.
std::unique_ptr<Tokenizer> open_content(const std::filesystem::path& path, const std::string& content,
                                        const ReadOptions& options) {
  try {
    return open_kind(path, content, options);
  } catch (const core::Error& error) {
    const std::string_view message = error.what();
    if (message.find(path.string()) != std::string_view::npos || error.code() == ErrorCode::kInterrupted) throw;
    core::fail_again(error, fmt::format("{}: {}", path.string(), message));
  }
}

}  // namespace

std::string_view name_of(FileKind kind) noexcept {
  const auto* found = std::ranges::find(kKinds, kind, &KnownKind::kind);
  return found == std::end(kKinds) ? "?" : found->name;
}

std::optional<FileKind> file_kind(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kKinds, name, &KnownKind::name);
  return found == std::end(kKinds) ? std::nullopt : std::optional(found->kind);
}

std::string word_expression(std::string_view name) {
  const auto is_of_a_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  require(name == kO200kName || !std::ranges::all_of(name, is_of_a_name), ErrorCode::kInvalidArgument,
          "the pattern '{}' must be gpt2, cl100k, cl100k-earlier, o200k or a regular expression", name);
  if (name != kO200kName) return std::string(name);
  return R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
         R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
         R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

std::optional<WordPattern> word_pattern(std::string_view name) noexcept {
  for (const auto& [pattern, its_name] : kPatterns)
    if (its_name == name) return pattern;
  return std::nullopt;
}

std::optional<FileKind> file_kind_of_name(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with("vocab.json")) return FileKind::kGpt2;
  if (name.ends_with(".json")) return FileKind::kTokenizerJson;
  if (name.ends_with(".model")) return FileKind::kSentencePiece;
  if (name.ends_with(".tiktoken")) return FileKind::kTiktoken;
  if (name.ends_with(".codes") || name.ends_with(".bpe")) return FileKind::kSubwordNmt;
  return std::nullopt;
}

std::vector<std::string> file_kind_names() {
  std::vector<std::string> names;
  for (const KnownKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

BpeDefinition parse_tokenizer_file(const std::filesystem::path& path, const std::string& content,
                                   const ReadOptions& options) {
  require(options.dictionary.empty(), ErrorCode::kUnsupported,
          "{}: a tokenizer with the ids of a dictionary encodes and decodes, but cannot be converted", path.string());
  const FileKind kind = kind_of(path, content, options);
  require(kind != FileKind::kTiktoken || expression_of_ranks(content, options).empty(), ErrorCode::kUnsupported,
          "{}: ranks whose words are those of a regular expression encode and decode, but cannot be converted",
          path.string());
  return description_of(kind).read(path, content, options);
}

BpeDefinition read_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_tokenizer_file(path, read_content(path), options);
}

AnyDefinition read_any_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_any_tokenizer_file(path, read_content(path), options);
}

AnyDefinition parse_any_tokenizer_file(const std::filesystem::path& path, const std::string& content,
                                       const ReadOptions& options) {
  if (options.dictionary.empty() && kind_of(path, content, options) == FileKind::kSentencePiece) {
    const auto vocabulary = read_piece_counts(options);
    if (auto unigram = read_sentencepiece_unigram(content, path.string(), vocabulary ? &*vocabulary : nullptr))
      return *std::move(unigram);
  }
  return parse_tokenizer_file(path, content, options);
}

std::unique_ptr<Tokenizer> open_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options) {
  if (!options.dictionary.empty()) {
    ReadOptions segmenter = options;
    segmenter.dictionary.clear();
    return std::make_unique<DictionaryTokenizer>(open_tokenizer_file(path, segmenter),
                                                 read_dictionary(options.dictionary));
  }
  return open_content(path, read_content(path), options);
}

std::unique_ptr<Tokenizer> make_tokenizer(FileKind kind, const TokenizerFile& file, core::OptionReader& own) {
  return open_content(file.path, without_byte_order_mark(file.content), read_own_options(kind, own));
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path) {
  return open_tokenizer_file(path);
}

std::string difference_when_written(const BpeDefinition& definition, FileKind kind) {
  if (kind == FileKind::kSentencePiece && escapes_only_mark(definition))
    return "SentencePiece has no escape for U+2581: where a text holds that character, it comes back as a space";
  return kind == FileKind::kTokenizerJson && maps_clusters(definition) ? std::string(kMapsClusters) : std::string();
}

std::string difference_when_written(const UnigramDefinition& definition, FileKind kind) {
  if (kind != FileKind::kTokenizerJson) return {};
  std::string difference =
      "`<unk>` decodes to nothing; of two ways to cut a text whose scores are equal but for rounding, the library "
      "tokenizers may take the other one; and a text that spells a special piece or a byte in characters that are "
      "unknown becomes that piece";
  if (maps_clusters(definition)) difference.append("; ").append(kMapsClusters);
  return difference;
}

void write_tokenizer_file(const BpeDefinition& definition, FileKind kind, const std::filesystem::path& path) {
  try {
    if (kind != FileKind::kTokenizerJson) check_cuts(definition, kind);
    description_of(kind).write(definition, path);
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    core::fail(ErrorCode::kUnsupported, "{}: {}", path.string(), error.what());
  }
}

void check_can_be_written(const BpeDefinition& definition, FileKind kind) {
  if (kind != FileKind::kTokenizerJson) check_cuts(definition, kind);
  description_of(kind).check(definition);
}

std::string written_unigram(const UnigramDefinition& definition, FileKind kind) {
  if (kind == FileKind::kTokenizerJson) return write_unigram_as_json(definition);
  require(kind == FileKind::kSentencePiece, ErrorCode::kUnsupported,
          "a unigram model has no merges, so it is not written as {}; write {} or {}", name_of(kind),
          name_of(FileKind::kSentencePiece), name_of(FileKind::kTokenizerJson));
  return write_sentencepiece_unigram(definition);
}

void write_tokenizer_file(const UnigramDefinition& definition, FileKind kind, const std::filesystem::path& path) {
  try {
    core::write_named_file(path, written_unigram(definition, kind));
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    core::fail(ErrorCode::kUnsupported, "{}: {}", path.string(), error.what());
  }
}

}  // namespace dragoman::tokenizer
