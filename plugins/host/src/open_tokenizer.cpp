#include "dragoman/plugins/open_tokenizer.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::plugins {

using core::ErrorCode;
using tokenizer::TokenizerFile;

std::unique_ptr<tokenizer::Tokenizer> open_tokenizer(const Registry& registry, const std::filesystem::path& file,
                                                     const tokenizer::TokenizerSpec& spec) {
  if (!spec.type.empty()) return make_tokenizer(registry, spec, {file, core::read_file(file, TokenizerFile::kLargest)});
  core::require(spec.options.empty(), ErrorCode::kInvalidArgument,
                "{}: tokenizer_options belong to a kind; name it as tokenizer_type", file.string());
  return tokenizer::load_tokenizer(file);
}

std::unique_ptr<tokenizer::Tokenizer> make_tokenizer(const Registry& registry, const tokenizer::TokenizerSpec& spec,
                                                     const TokenizerFile& file) {
  const TokenizerEntry& entry = registry.tokenizers().get(spec.kind());
  core::OptionReader own(spec.options.get(), file.path.string() + ": options of the tokenizer");
  std::unique_ptr<tokenizer::Tokenizer> made = entry.make(file, own);
  own.finish();
  return made;
}

}  // namespace dragoman::plugins
