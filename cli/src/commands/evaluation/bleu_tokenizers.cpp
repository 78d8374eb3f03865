#include "commands/evaluation/bleu_tokenizers.h"

#include "program/command.h"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::cli {
namespace {

namespace fs = std::filesystem;
using evaluation::BleuTokenizer;

/// A tokenizer of sacreBLEU that is a SentencePiece model.
struct ModelTokenizer {
  std::string_view option;
  std::string_view name;  ///< in signatures
  std::string_view file;  ///< the name that sacreBLEU gives it
};
constexpr ModelTokenizer kModelTokenizers[] = {{"spm", "flores101", "sacrebleu_tokenizer_spm.model"},
                                               {"flores101", "flores101", "sacrebleu_tokenizer_spm.model"},
                                               {"flores200", "flores200", "flores200sacrebleuspm"},
                                               {"spBLEU-1K", "spBLEU-1K", "spbleu-1k_tokenizer_spm.model"}};

/// The folder in which sacreBLEU keeps what it downloads; empty if the environment names none.
fs::path folder_of_sacrebleu() {
  if (const char* const own = std::getenv("SACREBLEU"); own != nullptr && *own != '\0') return own;
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? fs::path(home) / ".sacrebleu" : fs::path();
}

evaluation::OtherBleuTokenizer open(const ModelTokenizer& known, const std::string& model) {
  const fs::path file = model.empty() ? folder_of_sacrebleu() / "models" / known.file : fs::path(model);
  std::error_code ignored;
  core::require(fs::exists(file, ignored), core::ErrorCode::kIo,
                "{}: there is no such file, the SentencePiece model of the BLEU tokenizer {}; sacreBLEU downloads it "
                "with its first score, or name another place by --tokenize-model",
                file.string(), known.option);
  const std::shared_ptr<const tokenizer::Tokenizer> tokenizer = tokenizer::load_tokenizer(file);
  return {.name = std::string(known.name), .separate = [tokenizer](std::string_view segment) {
            return fmt::format("{}", fmt::join(tokenizer->encode_as_text(segment), " "));
          }};
}

}  // namespace

void set_bleu_tokenizer(const std::string& name, const std::string& model, evaluation::BleuOptions& options) {
  for (const ModelTokenizer& known : kModelTokenizers)
    if (known.option == name) {
      options.other_tokenizer = open(known, model);
      return;
    }
  if (!model.empty()) throw UsageError(fmt::format("--tokenize-model: the tokenizer {} needs no model", name));
  if (name == "ja-mecab" || name == "ko-mecab")
    throw UsageError(
        fmt::format("--tokenize {}: MeCab is not part of Dragoman; cut hypotheses and references with `mecab -Owakati` "
                    "and use --tokenize none",
                    name));
  for (const BleuTokenizer tokenizer : {BleuTokenizer::k13a, BleuTokenizer::kInternational, BleuTokenizer::kCharacter,
                                        BleuTokenizer::kNone, BleuTokenizer::kChinese})
    if (tokenizer_name(tokenizer) == name) {
      options.tokenizer = tokenizer;
      return;
    }
  throw UsageError(fmt::format("--tokenize {}: must be one of {}", name, kBleuTokenizers));
}

}  // namespace dragoman::cli
