#include "dragoman/tokenizer/tokenizer_files.h"

#include "base/base64.h"
#include "composed/composed_tokenizer.h"
#include "definition/escapes.h"
#include "dictionary_tokenizer.h"
#include "formats/byte_level.h"
#include "formats/subword_nmt.h"
#include "formats/youtokentome.h"
#include "json/tokenizer_json.h"
#include "sentencepiece/sentencepiece_files.h"
#include "text_fields.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/lfs_pointer.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

constexpr std::uint64_t kLargestFile = TokenizerFile::kLargest;

/// How many lines a kind is recognised by.
constexpr std::size_t kLooks = 16;

std::vector<std::string_view> first_lines(std::string_view content) {
  std::vector<std::string_view> lines;
  while (!content.empty() && lines.size() < kLooks) {
    const std::size_t end = content.find('\n');
    lines.push_back(strip(content.substr(0, end), "\r "));
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
  }
  return lines;
}

/// Whether every line has so many fields, of which the last is a number if `counted`.
bool has_fields(const std::vector<std::string_view>& lines, std::size_t count, bool counted) {
  return std::ranges::all_of(lines, [&](std::string_view line) {
    const auto fields = split_at(line, ' ');
    return fields.size() == count && std::ranges::none_of(fields, &std::string_view::empty) &&
           (!counted || parse_integer(fields.back()));
  });
}

/// A message of pieces begins with the first of them: a field of bytes whose first field is its text.
bool starts_with_a_piece(std::string_view content) {
  return content.size() > 3 && content[0] == '\n' && content[2] == '\n' && content[1] > 0;
}

/// {"piece": 0, ...: a text and a number, where a tokenizer.json has "version": "1.0".
bool is_plain_vocabulary(std::string_view object) {
  std::size_t i = object.find_first_not_of(" \t\r\n", 1);
  if (i == std::string_view::npos || object[i] != '"') return false;
  for (++i; i < object.size() && object[i] != '"'; ++i)
    if (object[i] == '\\') ++i;
  i = object.find_first_not_of(" \t\r\n:", std::min(i + 1, object.size()));
  return i != std::string_view::npos && object[i] >= '0' && object[i] <= '9';
}

/// Whether most lines are a token in base64 and their number: of a file with a bad line the reader says which it is.
bool are_ranks(const std::vector<std::string_view>& lines) {
  std::size_t good = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto fields = split_at(lines[i], ' ');
    if (fields.size() == 2 && parse_integer(fields[1]) == static_cast<std::int64_t>(i) && from_base64(fields[0]))
      ++good;
  }
  return good > 0 && good * 4 >= lines.size() * 3;
}

/// vocab.json and merges.txt may have a name in front, as in "roberta-vocab.json".
std::filesystem::path beside(const std::filesystem::path& path, std::string_view own, std::string_view other) {
  const std::string name = path.filename().string();
  const std::string_view front = std::string_view(name).substr(0, name.size() - std::min(name.size(), own.size()));
  return path.parent_path() / fmt::format("{}{}", name.ends_with(own) ? front : "", other);
}

constexpr std::string_view kVocabularyName = "vocab.json";
constexpr std::string_view kMergesName = "merges.txt";

std::filesystem::path vocabulary_beside(const std::filesystem::path& merges) {
  return beside(merges, kMergesName, kVocabularyName);
}

std::filesystem::path merges_beside(const std::filesystem::path& vocabulary) {
  return beside(vocabulary, kVocabularyName, kMergesName);
}

BpeDefinition read_gpt2_files(const std::filesystem::path& path, const std::string& content, const ReadOptions&) {
  if (content.starts_with("#version:"))
    return read_gpt2(core::read_file(vocabulary_beside(path), kLargestFile), content, path.string());
  return read_gpt2(content, core::read_file(merges_beside(path), kLargestFile), path.string());
}

Dictionary read_dictionary(const std::filesystem::path& path) {
  const std::string text = core::read_file(path, kLargestFile);
  const std::string extension = path.extension().string();
  const bool marian = extension == ".yml" || extension == ".yaml" || extension == ".json";
  return marian ? parse_marian_dictionary(text, path.string()) : parse_fairseq_dictionary(text, path.string());
}

void write_gpt2_files(const BpeDefinition& definition, const std::filesystem::path& path) {
  require(path.filename().string().ends_with(kVocabularyName), ErrorCode::kInvalidArgument,
          "{}: the name of the vocabulary must end with {}, so that {} is found beside it", path.string(),
          kVocabularyName, kMergesName);
  const Gpt2Files files = write_gpt2(definition);
  // Neither takes its name before both are complete: they are of no use with another's.
  core::OutputFile merges(merges_beside(path));
  core::OutputFile vocabulary(path);
  merges.write(files.merges_text);
  vocabulary.write(files.vocabulary_json);
  merges.flush();
  vocabulary.flush();
  merges.commit();
  vocabulary.commit();
}

/// What says nothing about files of this kind is not passed over: whoever gives it expects something of it.
void check_options(const ReadOptions& options, FileKind kind, const std::filesystem::path& path) {
  if (options.for_several) return;
  const bool codes = kind == FileKind::kSubwordNmt || kind == FileKind::kFastBpe;
  const ReadOptions usual;
  const auto check = [&](bool condition, std::string_view what, std::string_view kinds) {
    require(condition, ErrorCode::kInvalidArgument, "{}: {} with {}, and this is {}; leave it out", path.string(), what,
            kinds, name_of(kind));
  };
  constexpr std::string_view kCodes = "codes of subword-nmt or fastBPE";
  check(codes || options.glossaries.empty(), "glossaries go", kCodes);
  check(codes || options.vocabulary.empty(), "a vocabulary goes", kCodes);
  check(codes || options.separator == usual.separator, "a separator goes", kCodes);
  check(kind == FileKind::kTiktoken || (!options.pattern && options.expression.empty()), "a pattern goes",
        "rank files");
  check(kind == FileKind::kSentencePiece || !options.listed, "a number of listed pieces goes", "SentencePiece models");
  require(options.vocabulary_threshold == 0 || !options.vocabulary.empty(), ErrorCode::kInvalidArgument,
          "{}: a threshold of {} goes with a vocabulary", path.string(), options.vocabulary_threshold);
}

/// What no kind but tokenizer.json has a place for.
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

constexpr std::string_view kO200kName = "o200k";

/// The options of a kind that stand beside its file, where the file is all that there is.
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

/// The usual form: all is in one file.
template <auto read>
BpeDefinition read_text(const std::filesystem::path& path, const std::string& content, const ReadOptions& options) {
  if constexpr (std::is_invocable_v<decltype(read), const std::string&, const std::string&, const ReadOptions&>)
    return read(content, path.string(), options);
  else
    return read(content, path.string());
}

template <auto write>
void write_text(const BpeDefinition& definition, const std::filesystem::path& path) {
  core::write_file(path, write(definition));
}

[[noreturn]] void refuse_fastbpe(const BpeDefinition&, const std::filesystem::path&) {
  core::fail(ErrorCode::kUnsupported,
             "codes of fastBPE cannot be written, since the counts in them are not known; write codes of subword-nmt");
}

[[noreturn]] void refuse_youtokentome(const BpeDefinition&, const std::filesystem::path&) {
  core::fail(ErrorCode::kUnsupported, "models of YouTokenToMe are only read; write tokenizer-json");
}

/// The one list of kinds.
struct KnownKind {
  FileKind kind;
  std::string_view name;
  BpeDefinition (*read)(const std::filesystem::path& path, const std::string& content, const ReadOptions& options);
  void (*write)(const BpeDefinition& definition, const std::filesystem::path& path);
};
constexpr KnownKind kKinds[] = {
    {FileKind::kTokenizerJson, "tokenizer-json", read_text<read_tokenizer_json>, write_text<write_tokenizer_json>},
    {FileKind::kSubwordNmt, "subword-nmt", read_codes_of<FileKind::kSubwordNmt>, write_text<write_codes>},
    {FileKind::kFastBpe, "fastbpe", read_codes_of<FileKind::kFastBpe>, refuse_fastbpe},
    {FileKind::kGpt2, "gpt2", read_gpt2_files, write_gpt2_files},
    {FileKind::kSentencePiece, "sentencepiece", read_text<read_sentencepiece>, write_text<write_sentencepiece>},
    {FileKind::kTiktoken, "tiktoken", read_text<read_tiktoken>, write_text<write_tiktoken>},
    {FileKind::kYouTokenToMe, "youtokentome", read_text<read_youtokentome>, refuse_youtokentome},
};

const KnownKind& description_of(FileKind kind) {
  const auto* found = std::ranges::find(kKinds, kind, &KnownKind::kind);
  require(found != std::end(kKinds), ErrorCode::kInternal, "a kind of file without a reader");
  return *found;
}

std::unique_ptr<Tokenizer> open_tokenizer_json(const std::filesystem::path& path, const std::string& content) {
  auto definition = read_any_tokenizer_json(content, path.string());
  if (auto* merges = std::get_if<BpeDefinition>(&definition))
    return std::make_unique<BpeTokenizer>(std::move(*merges), path.string());
  return std::make_unique<ComposedTokenizer>(std::get<ComposedDefinition>(std::move(definition)), path.string());
}

/// Empty if the words of a rank file are those of a pattern that has a name of its own.
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

std::unique_ptr<Tokenizer> open_content(const std::filesystem::path& path, const std::string& content,
                                        const ReadOptions& options) {
  const FileKind kind = kind_of(path, content, options);
  if (kind == FileKind::kTokenizerJson) return open_tokenizer_json(path, content);
  if (kind == FileKind::kTiktoken)
    if (const std::string expression = expression_of_ranks(content, options); !expression.empty())
      return open_ranks(path, content, options, expression);
  if (kind == FileKind::kSentencePiece) return open_sentencepiece(content, path.string(), options.listed);
  return std::make_unique<BpeTokenizer>(description_of(kind).read(path, content, options), path.string());
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

std::vector<std::string> file_kind_names() {
  std::vector<std::string> names;
  for (const KnownKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

FileKind recognise(const std::filesystem::path& path, std::string_view content) {
  core::require_no_lfs_pointer(content, path.string());
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && content[first] == '{')
    return is_plain_vocabulary(content.substr(first)) ? FileKind::kGpt2 : FileKind::kTokenizerJson;
  if (starts_with_a_piece(content)) return FileKind::kSentencePiece;
  const auto lines = first_lines(content);
  if (content.starts_with("#version:"))
    return std::filesystem::exists(vocabulary_beside(path)) && path.filename().string().ends_with("merges.txt")
               ? FileKind::kGpt2
               : FileKind::kSubwordNmt;
  if (looks_like_youtokentome(content, lines)) return FileKind::kYouTokenToMe;
  if (are_ranks(lines)) return FileKind::kTiktoken;
  if (!lines.empty() && has_fields(lines, 3, true)) return FileKind::kFastBpe;
  if (!lines.empty() && has_fields(lines, 2, false)) return FileKind::kSubwordNmt;
  core::fail(ErrorCode::kBadInput, "{}: not a tokenizer file of a known kind ({}); name the kind if it is one",
             path.string(), fmt::join(file_kind_names(), ", "));
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
  return parse_tokenizer_file(path, core::read_file(path, kLargestFile), options);
}

std::unique_ptr<Tokenizer> open_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options) {
  if (!options.dictionary.empty()) {
    ReadOptions segmenter = options;
    segmenter.dictionary.clear();
    return std::make_unique<DictionaryTokenizer>(open_tokenizer_file(path, segmenter),
                                                 read_dictionary(options.dictionary));
  }
  return open_content(path, core::read_file(path, kLargestFile), options);
}

std::unique_ptr<Tokenizer> make_tokenizer(FileKind kind, const TokenizerFile& file, core::OptionReader& own) {
  return open_content(file.path, file.content, read_own_options(kind, own));
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path) {
  return open_tokenizer_file(path);
}

bool loses_mark_escape(const BpeDefinition& definition, FileKind kind) {
  return kind == FileKind::kSentencePiece && escapes_only_mark(definition);
}

void write_tokenizer_file(const BpeDefinition& definition, FileKind kind, const std::filesystem::path& path) {
  try {
    const Codes* codes = definition.codes();
    require(codes == nullptr || codes->glossaries.empty(), ErrorCode::kUnsupported,
            "no file has a place for glossaries; give them where text is encoded (encode --glossary)");
    if (kind != FileKind::kTokenizerJson) check_cuts(definition, kind);
    description_of(kind).write(definition, path);
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    core::fail(ErrorCode::kUnsupported, "{}: {}", path.string(), error.what());
  }
}

void write_tokenizer_file(const UnigramDefinition& definition, FileKind kind, const std::filesystem::path& path) {
  require(kind == FileKind::kSentencePiece, ErrorCode::kUnsupported,
          "{}: a unigram model has no merges, so it is not written as {}; write {}", path.string(), name_of(kind),
          name_of(FileKind::kSentencePiece));
  core::write_file(path, write_sentencepiece_unigram(definition));
}

}  // namespace dragoman::tokenizer
