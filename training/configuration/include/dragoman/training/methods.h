#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/ops/values.h>

// Optimisers and regularisers that a training configuration can select.
namespace dragoman::training {

enum class OptimizerKind : std::uint8_t {
  kAdamW,      ///< Kingma & Ba 2015 with decoupled weight decay (Loshchilov & Hutter 2019)
  kAdam,       ///< as kAdamW, but with the decay in the gradient (L2), as torch.optim.Adam
  kAdafactor,  ///< Shazeer & Stern 2018
  kLion,       ///< Chen et al. 2023
  kSgd,        ///< with optional momentum, as torch.optim.SGD; the decay is in the gradient
};

std::string_view name_of(OptimizerKind kind);

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0;
  /// Patterns of names of parameters that do not decay.
  std::vector<std::string> no_decay{};
  // For SGD.
  double momentum = 0;
  bool nesterov = false;
  // For Adafactor; ops::AdafactorArguments has the formulas.
  double decay_rate = 0.8;
  double square_epsilon = 1e-30;
  double scale_epsilon = 1e-3;
  double clip_threshold = 1;
  bool scale_parameter = true;
  /// Whether learning rates are min(1e-2, 1 / sqrt(update)) instead of the rates of the schedule.
  bool relative_step = false;
};

/// How label smoothing distributes its share s of the probability.
enum class SmoothingKind : std::uint8_t {
  kUniform,  ///< s / V for each of V pieces, including the target (Szegedy et al. 2016; PyTorch)
  kOthers,   ///< s / (V - 1) for each piece except the target, which has 1 - s (fairseq)
};

/// The consequence of an update whose loss or gradient is not finite.
enum class NonFinitePolicy : std::uint8_t {
  kStop,     ///< the run ends
  kSkip,     ///< parameters and moments are unchanged
  kRestore,  ///< parameters and moments are restored from the last checkpoint of checkpoint.every
};

/// Dynamic loss scaling for gradients that are rounded to fp16, whose smallest number is 2^-24 (Micikevicius et al.
/// 2018, sec. 3.2). The gradient of the loss is multiplied by a power of two, and the gradient for the optimiser is
/// divided by it; neither rounds. A non-finite gradient halves the scale, and its update is skipped.
struct LossScaleConfig {
  // Powers of two.
  std::int64_t initial = 65536;
  std::int64_t least = 1;  ///< at this scale, NonFinitePolicy handles non-finite gradients
  std::int64_t most = 16777216;
  /// The scale is doubled after this number of consecutive updates with finite gradients. 0: never.
  std::int64_t grow_after = 2000;
};

/// Guided alignment (Chen et al. 2016; Garg et al. 2019). The loss has an additional term: `weight` times the cost, as
/// a mean over all target tokens, of the difference between an attention and the word alignments of the training pairs.
/// The attention is the model's alignment (model.alignment_layer and alignment_heads).
struct GuidedAlignmentConfig {
  double weight = 0.1;
  ops::AlignmentCost cost = ops::AlignmentCost::kCrossEntropy;
  bool operator==(const GuidedAlignmentConfig&) const = default;
};

/// The probabilities with which pieces are replaced by the unknown token, drawn again for each batch (Bowman et al.
/// 2016).
struct WordDropoutConfig {
  double source = 0;
  double target = 0;
  bool on() const noexcept { return source > 0 || target > 0; }
};

}  // namespace dragoman::training
