#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_kind.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// The kinds of tokenizer files that can be read; docs/tokenizer.md says what of each.
enum class FileKind {
  kTokenizerJson,  ///< Hugging Face `tokenizer.json`, our native file
  kSubwordNmt,     ///< codes of subword-nmt, version 0.1 or 0.2
  kFastBpe,        ///< codes of fastBPE: a count behind each merge, no version
  kGpt2,           ///< `vocab.json` with `merges.txt` beside it
  kSentencePiece,  ///< a SentencePiece `.model` of type BPE or unigram
  kTiktoken,       ///< a rank file of tiktoken: a token in base64 and its rank on each line
  kYouTokenToMe,   ///< a model of YouTokenToMe
};

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
  /// Codes: subword-nmt's --vocabulary, or empty, and its --vocabulary-threshold.
  std::filesystem::path vocabulary = {};
  std::int64_t vocabulary_threshold = 0;
  /// Codes: subword-nmt's --glossaries, regular expressions for words and parts of words that stay as they are. Lines
  /// of pieces, and ids of a `dictionary`, are as there; the codes' own ids have <unk> for them. Other files refuse.
  std::vector<std::string> glossaries = {};
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

/// What a file of merges says, to be looked at, changed or written as another kind. Throws as open_tokenizer_file()
/// does, and Error{kUnsupported} for a unigram model or with a dictionary.
BpeDefinition read_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options = {});
/// The same from what the caller has read of `path`, decompressed; only files that a kind keeps beside it are read.
BpeDefinition parse_tokenizer_file(const std::filesystem::path& path, const std::string& content,
                                   const ReadOptions& options = {});

/// Whether write_tokenizer_file() would write a file that treats texts with U+2581 or U+241B in another way.
bool loses_mark_escape(const BpeDefinition& definition, FileKind kind);

/// Writes `definition` as a file of the kind, with the same pieces or ids for every text of valid UTF-8. Throws
/// Error{kUnsupported}, naming the path and the reason, if the kind cannot represent it. kGpt2 takes the path of the
/// vocab.json and writes merges.txt beside it. The one exception: kSentencePiece has no escapes, so there a U+2581 of
/// the text is a space, as in all models of that kind (loses_mark_escape()).
void write_tokenizer_file(const BpeDefinition& definition, FileKind kind, const std::filesystem::path& path);

/// Writes a unigram model: kSentencePiece. Throws Error{kUnsupported}, naming the path and the reason, for other kinds.
void write_tokenizer_file(const UnigramDefinition& definition, FileKind kind, const std::filesystem::path& path);

}  // namespace dragoman::tokenizer
