#pragma once

#include "dragoman/imports/exports.h"

#include <filesystem>

namespace dragoman::imports {

/// Writes a model of the type t5 as a transformers folder: T5ForConditionalGeneration, or UMT5ForConditionalGeneration
/// if each layer has a separate bias.
void write_t5(const ExportedModel& exported, const std::filesystem::path& folder);

}  // namespace dragoman::imports
