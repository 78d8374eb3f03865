#include "commands/evaluation/bleu_tokenizers.h"

#include "program/command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/evaluation/mecab_tokenizer.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::cli {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;
using evaluation::BleuTokenizer;

/// A tokenizer of sacreBLEU that is a SentencePiece model.
struct ModelTokenizer {
  std::string_view option;
  std::string_view name;  ///< in signatures
  std::string_view file;  ///< file name in sacreBLEU
};
constexpr ModelTokenizer kModelTokenizers[] = {{"spm", "flores101", "sacrebleu_tokenizer_spm.model"},
                                               {"flores101", "flores101", "sacrebleu_tokenizer_spm.model"},
                                               {"flores200", "flores200", "flores200sacrebleuspm"},
                                               {"spBLEU-1K", "spBLEU-1K", "spbleu-1k_tokenizer_spm.model"}};

constexpr std::string_view kMecab = "ja-mecab";

/// Returns the folder in which sacreBLEU stores downloads; empty if the environment names none.
fs::path folder_of_sacrebleu() {
  if (const char* const own = std::getenv("SACREBLEU"); own != nullptr && *own != '\0') return own;
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? fs::path(home) / ".sacrebleu" : fs::path();
}

const ModelTokenizer* find_model_tokenizer(std::string_view name) {
  const auto* const found = std::ranges::find(kModelTokenizers, name, &ModelTokenizer::option);
  return found == std::end(kModelTokenizers) ? nullptr : found;
}

/// Returns the name of a model in signatures. sacreBLEU publishes no checksums of its models. So, as in sacreBLEU, only
/// a file in sacreBLEU's own folder has sacreBLEU's name. A file that the user names is identified by the beginning of
/// its SHA-256.
std::string name_in_signature(const ModelTokenizer& known, bool is_named, std::string_view content) {
  constexpr std::size_t kDigits = 12;
  return is_named ? "spm-" + formats::sha256_of(content).substr(0, kDigits) : std::string(known.name);
}

evaluation::OtherBleuTokenizer open(const ModelTokenizer& known, const std::string& model) {
  const fs::path folder = folder_of_sacrebleu();
  core::require(
      !model.empty() || !folder.empty(), ErrorCode::kIo,
      "the environment names no folder of sacreBLEU (SACREBLEU, HOME) with the model of the BLEU tokenizer {}; "
      "name the model by --tokenize-model",
      known.option);
  const fs::path file = model.empty() ? folder / "models" / known.file : fs::path(model);
  std::error_code ignored;
  core::require(fs::exists(file, ignored), ErrorCode::kIo,
                "{}: there is no such file, the SentencePiece model of the BLEU tokenizer {}; sacreBLEU downloads it "
                "with its first score, or name another place by --tokenize-model",
                file.string(), known.option);
  const std::string content = core::read_file(file, tokenizer::TokenizerFile::kLargest);
  const tokenizer::FileKind kind = tokenizer::recognise(file, content);
  core::require(kind == tokenizer::FileKind::kSentencePiece, ErrorCode::kBadInput,
                "{}: is a tokenizer of the kind {}, but the BLEU tokenizer {} is a SentencePiece model; name such a "
                "model, or encode the texts and use --tokenize none",
                file.string(), tokenizer::name_of(kind), known.option);
  const core::Json no_options = core::Json::object();
  core::OptionReader own(no_options, file.string());
  const std::shared_ptr<const tokenizer::Tokenizer> tokenizer =
      tokenizer::make_tokenizer(kind, {.path = file, .content = content}, own);
  return {.name = name_in_signature(known, !model.empty(), content), .separate = [tokenizer](std::string_view segment) {
            return fmt::format("{}", fmt::join(tokenizer->encode_as_text(segment), " "));
          }};
}

evaluation::OtherBleuTokenizer open_mecab(const std::string& dictionary) {
  if (!dictionary.empty()) return evaluation::make_mecab_tokenizer(dictionary);
  std::error_code ignored;
  core::require(fs::is_directory(evaluation::kDebianIpaDictionary, ignored), ErrorCode::kIo,
                "{}: there is no such folder, the dictionary of the BLEU tokenizer ja-mecab; install Debian's packages "
                "libmecab2 and mecab-ipadic-utf8, or name the folder of another dictionary by --tokenize-model",
                evaluation::kDebianIpaDictionary);
  return evaluation::make_mecab_tokenizer();
}

BleuTokenizer without_model(const std::string& name, const std::string& model) {
  if (!model.empty()) throw UsageError(fmt::format("--tokenize-model: the tokenizer {} needs no model", name));
  if (name == "ko-mecab")
    throw UsageError(
        "--tokenize ko-mecab: the MeCab for Korean is another library than Debian's; cut hypotheses and references "
        "with "
        "its `mecab -Owakati` and use --tokenize none");
  for (const BleuTokenizer tokenizer : {BleuTokenizer::k13a, BleuTokenizer::kInternational, BleuTokenizer::kCharacter,
                                        BleuTokenizer::kNone, BleuTokenizer::kChinese})
    if (tokenizer_name(tokenizer) == name) return tokenizer;
  throw UsageError(fmt::format("--tokenize {}: must be one of {}", name, kBleuTokenizers));
}

}  // namespace

void set_bleu_tokenizer(const std::string& name, const std::string& model, evaluation::BleuOptions& options) {
  if (const ModelTokenizer* const known = find_model_tokenizer(name))
    options.other_tokenizer = open(*known, model);
  else if (name == kMecab)
    options.other_tokenizer = open_mecab(model);
  else
    options.tokenizer = without_model(name, model);
}

void check_bleu_tokenizer(const std::string& name, const std::string& model) {
  if (name != kMecab && find_model_tokenizer(name) == nullptr) without_model(name, model);
}

}  // namespace dragoman::cli
