#pragma once

#include <memory>

#include <dragoman/core/json_fwd.h>
#include <dragoman/decoding/logits_processor.h>

namespace example {

/// What a hypothesis has said already is less likely to be said again: the logit of a token that stands in it n times
/// falls by n * alpha. Option `alpha` (0.5).
std::unique_ptr<dragoman::decoding::LogitsProcessor> make_frequency_penalty(dragoman::core::OptionReader& options);

}  // namespace example
