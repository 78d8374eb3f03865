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

/// Returns the name of a kind: "tokenizer-json", "subword-nmt", "fastbpe", "gpt2", "sentencepiece", "tiktoken" or
/// "youtokentome". file_kind() is the inverse.
std::string_view name_of(FileKind kind) noexcept;
std::optional<FileKind> file_kind(std::string_view name) noexcept;
/// Returns all names, for messages and help texts.
std::vector<std::string> file_kind_names();
/// Returns the kind that a file name implies: ".model" is kSentencePiece, "vocab.json" is kGpt2. nullopt if the name
/// implies none.
std::optional<FileKind> file_kind_of_name(const std::filesystem::path& file);

/// Returns the pattern with the name "gpt2", "cl100k" or "cl100k-earlier".
std::optional<WordPattern> word_pattern(std::string_view name) noexcept;

/// Returns the regular expression for other values of `--pattern` and the option `pattern`: "o200k", or the expression
/// itself. Throws Error{kInvalidArgument} for a value that can only be a name but is unknown.
std::string word_expression(std::string_view name);

/// Properties that some files do not contain and leave to the program that reads them.
struct ReadOptions {
  /// The kind of the file. If not set, it is recognised by content.
  std::optional<FileKind> kind = {};
  /// For codes: the separator, as in subword-nmt's --separator.
  std::string separator = "@@";
  /// For codes and SentencePiece models: the file of --vocabulary of subword-nmt or spm_encode (pieces with their
  /// counts), or empty, and --vocabulary-threshold.
  std::filesystem::path vocabulary = {};
  std::int64_t vocabulary_threshold = 0;
  /// A list of pieces whose ids replace the ids of the file: fairseq's dict.txt or, if the name ends in .yml, .yaml or
  /// .json, Marian's vocabulary. A piece that is not in the list becomes its unknown piece. Empty: none.
  std::filesystem::path dictionary = {};
  /// For rank files: the definition of words. If not set, the number of tokens decides. A file with as many tokens as
  /// cl100k_base gets its pattern, and one with as many tokens as o200k_base gets GPT-4o's expression. All others get
  /// GPT-2's pattern.
  std::optional<WordPattern> pattern = {};
  /// For rank files, instead of `pattern`: a regular expression for words in Oniguruma's syntax. As with tiktoken, text
  /// that it does not match is removed. Such a tokenizer encodes and decodes, but cannot be converted.
  std::string expression = {};
  /// For SentencePiece models: the number of pieces with which the translation model was trained
  /// (renumber_sentencepiece()). Later pieces affect the segmentation but are encoded as the unknown piece. In unigram
  /// models, a run of unknown characters that is one of them becomes that piece.
  std::optional<std::int32_t> listed = {};
  /// Whether files of several kinds are read with these options. If true, options without effect on a file are ignored.
  /// Otherwise they are an Error{kInvalidArgument}.
  bool for_several = false;
  /// Receives a warning about parts of a file that encode() ignores: truncation and padding.
  core::LogSink log = {};

  /// Returns whether a property of the file is set: any member but `kind`, `for_several` and `log`.
  bool any() const {
    const ReadOptions usual;
    return separator != usual.separator || vocabulary_threshold != usual.vocabulary_threshold || !vocabulary.empty() ||
           !dictionary.empty() || pattern || !expression.empty() || listed;
  }
};

/// Returns the kind of a file by its content. `path` is used to find files that a kind keeps in the same folder. Throws
/// Error{kBadInput} if it is none of the kinds.
FileKind recognise(const std::filesystem::path& path, std::string_view content);

/// Opens a tokenizer file. The tokenizer gives the same ids or pieces as the program to which the file belongs.
///
///     const auto tokenizer = open_tokenizer_file("source.spm");
///     const auto codes = open_tokenizer_file("codes.bpe", {.separator = "@@"});
///
/// Throws Error{kIo}, Error{kBadInput} for a damaged file, and Error{kUnsupported} for a file that cannot be reproduced
/// exactly. The latter two name the place and the reason. The result owns its data: the file may
/// change afterwards. All functions of this header may be called concurrently.
std::unique_ptr<Tokenizer> open_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options = {});

/// Opens a tokenizer file of any kind. Equal to open_tokenizer_file() without options.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

/// Returns the kinds that are registered by name, in addition to those of plugins. They include every kind that is a
/// single file, so not kGpt2.
std::vector<FileKind> registered_kinds();
/// Returns a one-line description for lists of kinds.
std::string_view summary_of(FileKind kind) noexcept;
TokenizerExample example_of(FileKind kind);
/// Like open_tokenizer_file(), for a file that the caller has read. `own` may have `separator` for codes, `pattern` for
/// rank files and `listed` for SentencePiece models. The caller must finish() it.
std::unique_ptr<Tokenizer> make_tokenizer(FileKind kind, const TokenizerFile& file, core::OptionReader& own);

/// The ids before and after the ids of a text.
struct SurroundingIds {
  std::vector<std::int32_t> in_front = {};
  std::vector<std::int32_t> behind = {};
  bool operator==(const SurroundingIds&) const = default;
};
/// Returns the ids that the post-processor of a tokenizer.json adds to a text; encode() does not add them. Returns
/// nullopt if the tokenizer has no post-processor. Throws Error{kUnsupported} for one that does more than surround a
/// text.
std::optional<SurroundingIds> ids_of_post_processor(const Tokenizer& tokenizer);

/// Reads the definition from a merges file, so that it can be inspected, changed or written as another kind. Throws
/// like open_tokenizer_file(), and Error{kUnsupported} for a unigram model or with a dictionary.
BpeDefinition read_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options = {});
/// Like read_tokenizer_file(), for decompressed content that the caller has read from `path`. Reads only additional
/// files that a kind keeps in the same folder.
BpeDefinition parse_tokenizer_file(const std::filesystem::path& path, const std::string& content,
                                   const ReadOptions& options = {});

/// A tokenizer with merges, or a unigram model.
using AnyDefinition = std::variant<BpeDefinition, UnigramDefinition>;
/// Like read_tokenizer_file() and parse_tokenizer_file(), but a SentencePiece model of type unigram is accepted too.
AnyDefinition read_any_tokenizer_file(const std::filesystem::path& path, const ReadOptions& options = {});
AnyDefinition parse_any_tokenizer_file(const std::filesystem::path& path, const std::string& content,
                                       const ReadOptions& options = {});

/// Returns how the file that write_tokenizer_file() writes differs in behaviour from the definition, as a sentence
/// without a full stop. Empty if there is no difference.
std::string difference_when_written(const BpeDefinition& definition, FileKind kind);
std::string difference_when_written(const UnigramDefinition& definition, FileKind kind);

/// Writes `definition` as a file of the kind. The file gives the same pieces or ids for every text of valid UTF-8, with
/// two exceptions, which difference_when_written() reports: kSentencePiece has no escapes, so a U+2581 in the text is
/// read as a space, and kTokenizerJson has character maps for clusters only.
///
/// Throws Error{kUnsupported} that names the path and the reason if the kind cannot represent the definition.
///
/// kGpt2 takes the path of the vocab.json and writes merges.txt into the same folder: see gpt2_companion(). Since the
/// caller has not named it, it is replaced only together with a vocab.json. Throws Error{kInvalidArgument} if it is a
/// link, or exists without a vocab.json.
///
///     const BpeDefinition definition = read_tokenizer_file("codes.bpe");
///     write_tokenizer_file(definition, FileKind::kTokenizerJson, "tokenizer.json");
void write_tokenizer_file(const BpeDefinition& definition, FileKind kind, const std::filesystem::path& path);

/// Returns the file that GPT-2's tokenizer has beside this one: merges.txt or vocab.json, with a prefix as in
/// "roberta-vocab.json".
std::filesystem::path gpt2_companion(const std::filesystem::path& file);

/// Throws the same error as write_tokenizer_file() if the kind cannot represent the definition, but without the path.
/// Writes nothing.
void check_can_be_written(const BpeDefinition& definition, FileKind kind);

/// Writes a unigram model as kSentencePiece or kTokenizerJson. Throws Error{kUnsupported} that names the path and the
/// reason for other kinds, and for models that a tokenizer.json cannot represent.
void write_tokenizer_file(const UnigramDefinition& definition, FileKind kind, const std::filesystem::path& path);
/// Returns the text of that file. Throws like write_tokenizer_file(), without the path.
std::string written_unigram(const UnigramDefinition& definition, FileKind kind);

}  // namespace dragoman::tokenizer
