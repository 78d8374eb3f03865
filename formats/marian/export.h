#pragma once

#include "dragoman/imports/exports.h"

namespace dragoman::imports {

/// Writes a folder for marian-decoder, with model.npz, its vocabularies as YAML and a decoder.yml.
void write_marian(const ExportedModel& exported, const std::filesystem::path& output);

}  // namespace dragoman::imports
