#pragma once

#include <memory>

#include <dragoman/core/json_fwd.h>
#include <dragoman/decoding/strategy.h>

namespace example {

/// Min-p sampling (Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs"):
/// draws from the tokens whose probability is at least `min_p` times that of the most probable one. Own option: `min_p`
/// (0.1). One sample a sentence, keyed by seed, line and step, so it does not depend on what else is translated.
std::unique_ptr<dragoman::decoding::SearchStrategy> make_min_p(const dragoman::decoding::DecodingOptions& options,
                                                               dragoman::core::OptionReader& own);

}  // namespace example
