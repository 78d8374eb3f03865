#pragma once

#include "dragoman/imports/exports.h"

namespace dragoman::imports {

/// A folder with model.npz, its vocabularies as YAML and a decoder.yml, as marian-decoder takes them.
void write_marian(const ExportedModel& exported, const std::filesystem::path& output);

}  // namespace dragoman::imports
