#include "dragoman/dragoman.h"

#include <dragoman/plugins/host.h>
#include <dragoman/plugins/open_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/learn_unigram.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman {
Tokenizer Tokenizer::open(const std::filesystem::path& file) {
  return {plugins::open_tokenizer(plugins::default_host().registry(), file)};
}

Tokenizer::Tokenizer(std::shared_ptr<const tokenizer::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {
  core::require(tokenizer_ != nullptr, core::ErrorCode::kInvalidArgument, "a Tokenizer was made of a null pointer");
}

std::int32_t Tokenizer::size() const {
  return tokenizer_->size();
}
std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  return tokenizer_->encode(text);
}
std::vector<std::string> Tokenizer::tokenize(std::string_view text) const {
  std::vector<std::string> tokens;
  for (const std::int32_t id : tokenizer_->encode(text)) tokens.emplace_back(tokenizer_->piece(id));
  return tokens;
}
std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  return tokenizer_->decode(ids);
}
std::string Tokenizer::token(std::int32_t id) const {
  core::require(id >= 0 && id < size(), ErrorCode::kInvalidArgument, "there is no token {}; ids are 0 to {}", id,
                size() - 1);
  return std::string(tokenizer_->piece(id));
}
std::optional<std::int32_t> Tokenizer::id(std::string_view token) const {
  return tokenizer_->id(token);
}

void Tokenizer::save(const std::filesystem::path& file) const {
  if (const auto* bpe = dynamic_cast<const tokenizer::BpeTokenizer*>(tokenizer_.get())) return bpe->save(file);
  const auto* unigram = dynamic_cast<const tokenizer::UnigramTokenizer*>(tokenizer_.get());
  core::require(unigram != nullptr, ErrorCode::kUnsupported,
                "{}: only BPE and unigram tokenizers can be saved; copy the file that this one was opened from",
                file.string());
  tokenizer::write_tokenizer_file(unigram->definition(), tokenizer::FileKind::kSentencePiece, file);
}

Tokenizer learn_bpe(const std::vector<std::filesystem::path>& files, const LearnBpeOptions& options,
                    const ProgressSink& progress, const LogSink& log, const std::stop_token& stop) {
  return {std::make_shared<const tokenizer::BpeTokenizer>(tokenizer::learn_bpe(files, options, progress, log, stop))};
}

Tokenizer learn_unigram(const std::vector<std::filesystem::path>& files, const LearnUnigramOptions& options,
                        const ProgressSink& progress, const LogSink& log, const std::stop_token& stop) {
  return {std::make_shared<const tokenizer::UnigramTokenizer>(
      tokenizer::learn_unigram(files, options, progress, log, stop))};
}

}  // namespace dragoman
