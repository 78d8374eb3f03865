#include "dragoman/tokenizer/tokenizer.h"

namespace dragoman::tokenizer {

Tokenizer::~Tokenizer() = default;

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path) {
  return std::make_unique<BpeTokenizer>(BpeTokenizer::load(path));
}

}  // namespace dragoman::tokenizer
