#pragma once

#include "settings/stage_settings.h"

#include <memory>

#include <dragoman/pipeline_api/stage.h>
#include <dragoman/plugins/registry.h>

namespace dragoman::pipeline {

/// Creates a stage for Unicode normalisation of the text.
std::unique_ptr<MapStage> make_normalize_stage(const NormalizeSettings& settings);
/// Creates a stage that replaces the text by its pieces or ids, separated by spaces.
std::unique_ptr<MapStage> make_encode_stage(const EncodeSettings& settings, const plugins::Registry& registry);
/// Creates a stage that replaces ids, separated by spaces, by their text.
std::unique_ptr<MapStage> make_decode_stage(const DecodeSettings& settings, const plugins::Registry& registry);

}  // namespace dragoman::pipeline
