#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/core/log.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/file_kind.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// "tokenizer-json", "subword-nmt", "fastbpe", "gpt2", "sentencepiece", "tiktoken", "youtokentome".
std::string_view name_of(FileKind kind) noexcept;
std::optional<FileKind> file_kind(std::string_view name) noexcept;
/// All names, for messages and help texts.
std::vector<std::string> file_kind_names();

/// The pattern of the name "gpt2", "cl100k" or "cl100k-earlier".
std::optional<WordPattern> word_pattern(std::string_view name) noexcept;

/// What `--pattern` and the option `pattern` may be beside these names: "o200k", and else a regular expression itself.
/// Throws Error{kInvalidArgument} for what can only be a name, and is none.
std::string word_expression(std::string_view name);

/// What some files leave to the program that reads them.
struct ReadOptions {
  /// If not given: recognised by content.
  std::optional<FileKind> kind = {};
  /// Codes: what subword-nmt's --separator says.
  std::string separator = "@@";
  /// Codes and SentencePiece models: the file of --vocabulary of subword-nmt or spm_encode (pieces with their counts),
  /// or empty, and --vocabulary-threshold.
  std::filesystem::path vocabulary = {};
  std::int64_t vocabulary_threshold = 0;
  /// A list of pieces whose ids take the place of the file's own: fairseq's dict.txt or, if its name ends with .yml,
  /// .yaml or .json, Marian's vocabulary. A piece that is not in it becomes its unknown piece. Empty: none.
  std::filesystem::path dictionary = {};
  /// Rank files: what words are. If not given: cl100k_base's if there are as many tokens as there, GPT-4o's
  /// if there are as many as in o200k_base (which is an expression), else GPT-2's.
  std::optional<WordPattern> pattern = {};
  /// Rank files: or a regular expression for words, of Oniguruma's syntax. What it does not match vanishes, as with
  /// tiktoken. Such a tokenizer encodes and decodes, but is not converted.
  std::string expression = {};
  /// SentencePiece models: how many pieces a model was trained with (renumber_sentencepiece()). Those behind them cut
  /// texts, but are the unknown piece; and a run of unknown characters that is one of them is that one (unigram only).
  std::optional<std::int32_t> listed = {};
  /// Files of several kinds are read with these, so what says nothing about one of them is no mistake; else it is an
  /// Error{kInvalidArgument}.
  bool for_several = false;
  /// Receives a warning about what a file holds and encode() does not do: truncation and padding.
  core::LogSink log = {};
};

/// What kind of file `content` is; `path` is looked at for the files that a kind keeps beside it. Throws
/// Error{kBadInput} if it is none of them.
FileKind recognise(const std::filesystem::path& path, std::string_view content);

/// The tokenizer that gives the ids or pieces of the program that the file belongs to. Throws Error{kIo};
/// Error{kBadInput} for a damaged file and Error{kUnsupported} for one that we cannot follow exactly; both name the
/// place and the reason.
std::unique_ptr<Tokenizer> open_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options = {});

/// Reads whatever kind of tokenizer the file holds, as open_tokenizer_file() without options does, and throws as it
/// does.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

/// The kinds that are registered under their names, beside those of plugins: all that are one file, so not kGpt2.
std::vector<FileKind> registered_kinds();
/// One line for lists of them.
std::string_view summary_of(FileKind kind) noexcept;
TokenizerExample example_of(FileKind kind);
/// As open_tokenizer_file() of what the caller has read. `own` may have `separator` for codes, `pattern` for rank
/// files and `listed` for SentencePiece models; the caller finish()es it.
std::unique_ptr<Tokenizer> make_tokenizer(FileKind kind, const TokenizerFile& file, core::OptionReader& own);

/// The ids before and after the ids of a text.
struct SurroundingIds {
  std::vector<std::int32_t> in_front = {};
  std::vector<std::int32_t> behind = {};
  bool operator==(const SurroundingIds&) const = default;
};
/// Returns what the post-processor of a tokenizer.json adds to a text; encode() does not add it. Nothing: the tokenizer
/// has no post-processor. Throws Error{kUnsupported} for one that does more than surround a text.
std::optional<SurroundingIds> ids_of_post_processor(const Tokenizer& tokenizer);

/// What a file of merges says, to be looked at, changed or written as another kind. Throws as open_tokenizer_file()
/// does, and Error{kUnsupported} for a unigram model or with a dictionary.
BpeDefinition read_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options = {});
/// The same from what the caller has read of `path`, decompressed; only files that a kind keeps beside it are read.
BpeDefinition parse_tokenizer_file(const std::filesystem::path& path, const std::string& content,
                                   const ReadOptions& options = {});

/// A tokenizer with merges, or a unigram model.
using AnyDefinition = std::variant<BpeDefinition, UnigramDefinition>;
/// Like read_tokenizer_file() and parse_tokenizer_file(), but a SentencePiece model of the type unigram is read, too.
AnyDefinition read_any_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options = {});
AnyDefinition parse_any_tokenizer_file(const std::filesystem::path& path, const std::string& content,
                                       const ReadOptions& options = {});

/// Returns what a file that write_tokenizer_file() writes does otherwise than the definition, as a sentence without a
/// full stop. Empty: nothing.
std::string difference_when_written(const BpeDefinition& definition, FileKind kind);
std::string difference_when_written(const UnigramDefinition& definition, FileKind kind);

/// Writes `definition` as a file of the kind, with the same pieces or ids for every text of valid UTF-8. Throws
/// Error{kUnsupported}, naming the path and the reason, if the kind cannot represent it. kGpt2 takes the path of the
/// vocab.json and writes merges.txt next to it. Exceptions are what difference_when_written() returns: kSentencePiece
/// has no escapes, so there a U+2581 of the text is a space, and kTokenizerJson has character maps for clusters only.
void write_tokenizer_file(const BpeDefinition& definition, FileKind kind, const std::filesystem::path& path);

/// Throws as write_tokenizer_file() would for what the kind cannot represent, without the path, and writes nothing.
void check_can_be_written(const BpeDefinition& definition, FileKind kind);

/// Writes a unigram model as kSentencePiece or kTokenizerJson. Throws Error{kUnsupported}, naming the path and the
/// reason, for other kinds and for models that a tokenizer.json cannot represent.
void write_tokenizer_file(const UnigramDefinition& definition, FileKind kind, const std::filesystem::path& path);
/// Returns the text of that file. Throws as write_tokenizer_file(), without the path.
std::string written_unigram(const UnigramDefinition& definition, FileKind kind);

}  // namespace dragoman::tokenizer
