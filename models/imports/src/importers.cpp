#include "dragoman/imports/importers.h"

#include "ctranslate2/importer.h"
#include "fairseq/importer.h"
#include "huggingface/huggingface.h"
#include "marian/importer.h"
#include "tokens/piece_tokenizer.h"

namespace dragoman::imports {

std::vector<plugins::ModelImporterEntry> built_in_importers() {
  return {huggingface_importer(), ctranslate2_importer(), marian_importer(), fairseq_importer()};
}

std::vector<plugins::TokenizerEntry> built_in_tokenizers() {
  return {piece_tokenizer_entry()};
}

}  // namespace dragoman::imports
