#pragma once

#include <memory>

#include <dragoman/core/json_fwd.h>
#include <dragoman/pipeline_api/stage.h>

namespace dragoman::pipeline {

/// normalize: {form: nfc|nfkc, lowercase: bool}: Unicode normalisation of the text.
std::unique_ptr<MapStage> make_normalize_stage(core::OptionReader& options);
/// encode: {tokenizer: FILE, format: pieces|ids}: the text becomes its pieces or ids with blanks between them.
std::unique_ptr<MapStage> make_encode_stage(core::OptionReader& options);
/// decode: {tokenizer: FILE}: the text, ids with blanks between them, becomes text again.
std::unique_ptr<MapStage> make_decode_stage(core::OptionReader& options);

}  // namespace dragoman::pipeline
