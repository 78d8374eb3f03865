#pragma once

#include "dragoman/imports/exports.h"

namespace dragoman::imports {

/// Writes a CTranslate2 folder (binary version 6, revision 7 of TransformerSpec) in float32.
void write_ctranslate2(const ExportedModel& exported, const std::filesystem::path& output);

}  // namespace dragoman::imports
