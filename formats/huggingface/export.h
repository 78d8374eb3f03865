#pragma once

#include "dragoman/imports/exports.h"

namespace dragoman::imports {

/// A folder of transformers: a MarianMTModel of what has its norms behind the sub-layers, a
/// PegasusForConditionalGeneration of what has them in front.
void write_huggingface(const ExportedModel& exported, const std::filesystem::path& output);

}  // namespace dragoman::imports
