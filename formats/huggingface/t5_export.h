#pragma once

#include "dragoman/imports/exports.h"

#include <filesystem>

namespace dragoman::imports {

/// A model of the type t5 as a folder of transformers: T5ForConditionalGeneration, or UMT5's where each layer has a
/// bias of its own.
void write_t5(const ExportedModel& exported, const std::filesystem::path& folder);

}  // namespace dragoman::imports
