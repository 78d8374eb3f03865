#pragma once

#include <memory>

#include <dragoman/core/json_fwd.h>
#include <dragoman/pipeline_api/stage.h>

namespace example {

/// Blanks (spaces and tabs) at both ends of the text go, blanks in a row become one space. Option `keep_tabs` (false):
/// tabs are no blanks.
std::unique_ptr<dragoman::pipeline::MapStage> make_squeeze(dragoman::core::OptionReader& options);

}  // namespace example
