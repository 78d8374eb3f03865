#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::decoding {

/// Decoder inputs (the start, then the target) and the tokens that they predict (the target, then the end).
struct ForcedTargets {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> labels;
  std::vector<std::int32_t> offsets{0};

  ForcedTargets(const tensor::RaggedTokens& targets, const nn::SequenceSpec& spec) {
    for (std::int64_t b = 0; b < targets.batch(); ++b) {
      const auto target = targets.sequence(b);
      inputs.push_back(spec.decoder_start);
      inputs.insert(inputs.end(), target.begin(), target.end());
      labels.insert(labels.end(), target.begin(), target.end());
      labels.push_back(spec.end);
      offsets.push_back(static_cast<std::int32_t>(inputs.size()));
    }
  }
};

}  // namespace dragoman::decoding
