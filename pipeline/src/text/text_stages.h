#pragma once

#include "settings/stage_settings.h"

#include <memory>

#include <dragoman/pipeline_api/stage.h>
#include <dragoman/plugins/registry.h>

namespace dragoman::pipeline {

/// Unicode normalisation of the text.
std::unique_ptr<MapStage> make_normalize_stage(const NormalizeSettings& settings);
/// The text becomes its pieces or ids with blanks between them.
std::unique_ptr<MapStage> make_encode_stage(const EncodeSettings& settings, const plugins::Registry& registry);
/// The text, ids with blanks between them, becomes text again.
std::unique_ptr<MapStage> make_decode_stage(const DecodeSettings& settings, const plugins::Registry& registry);

}  // namespace dragoman::pipeline
