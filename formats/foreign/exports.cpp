#include "dragoman/imports/exports.h"

#include "ctranslate2/export.h"
#include "huggingface/export.h"
#include "marian/export.h"

#include <algorithm>

namespace dragoman::imports {

const std::vector<ExportFormat>& export_formats() {
  static const std::vector<ExportFormat> formats = {
      {.name = "ctranslate2", .summary = "a folder of CTranslate2, in float32", .write = write_ctranslate2},
      {.name = "marian-npz",
       .summary = "a folder with a model of Marian (.npz), its vocabularies and a decoder.yml",
       .write = write_marian},
      {.name = "huggingface",
       .summary = "a folder of transformers: MarianMT, or Pegasus where norms stand in front; T5",
       .write = write_huggingface},
  };
  return formats;
}

const ExportFormat* find_export_format(std::string_view name) {
  const auto& formats = export_formats();
  const auto found = std::ranges::find(formats, name, &ExportFormat::name);
  return found == formats.end() ? nullptr : &*found;
}

}  // namespace dragoman::imports
