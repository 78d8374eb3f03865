#pragma once

#include "dragoman/imports/exports.h"

namespace dragoman::imports {

/// Writes a transformers folder: a MarianMTModel for a model with post-norm sub-layers, a
/// PegasusForConditionalGeneration for one with pre-norm sub-layers.
void write_huggingface(const ExportedModel& exported, const std::filesystem::path& output);

}  // namespace dragoman::imports
