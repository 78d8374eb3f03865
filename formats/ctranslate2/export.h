#pragma once

#include "dragoman/imports/exports.h"

namespace dragoman::imports {

/// A folder of CTranslate2 (binary version 6, revision 7 of TransformerSpec) in float32.
void write_ctranslate2(const ExportedModel& exported, const std::filesystem::path& output);

}  // namespace dragoman::imports
