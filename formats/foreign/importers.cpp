#include "dragoman/imports/importers.h"

#include "ctranslate2/importer.h"
#include "fairseq/importer.h"
#include "huggingface/huggingface.h"
#include "marian/importer.h"
#include "peft/peft.h"
#include "tokens/piece_tokenizer.h"

namespace dragoman::imports {

std::vector<formats::ModelImporter> built_in_importers() {
  std::vector<formats::ModelImporter> importers = {huggingface_importer(), ctranslate2_importer(), marian_importer(),
                                                   fairseq_importer()};
  importers.push_back(peft_importer(importers));
  return importers;
}

std::vector<TokenizerEntry> built_in_tokenizers() {
  return {piece_tokenizer_entry()};
}

}  // namespace dragoman::imports
