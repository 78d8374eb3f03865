#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/ops/values.h>

// What a recipe can choose of optimisers and regularisers, as the configuration says it.
namespace dragoman::training {

enum class OptimizerKind : std::uint8_t {
  kAdamW,      ///< Kingma & Ba 2015 with decoupled weight decay (Loshchilov & Hutter 2019)
  kAdam,       ///< the same with the decay in the gradient (L2), as torch.optim.Adam
  kAdafactor,  ///< Shazeer & Stern 2018
  kLion,       ///< Chen et al. 2023
  kSgd,        ///< with momentum, if any, as torch.optim.SGD; the decay is in the gradient
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
  // Of SGD.
  double momentum = 0;
  bool nesterov = false;
  // Of Adafactor; ops::AdafactorArguments has the formulas.
  double decay_rate = 0.8;
  double square_epsilon = 1e-30;
  double scale_epsilon = 1e-3;
  double clip_threshold = 1;
  bool scale_parameter = true;
  /// Learning rates are min(1e-2, 1 / sqrt(update)) in place of the schedule's.
  bool relative_step = false;
};

/// How label smoothing spreads its share s of the target.
enum class SmoothingKind : std::uint8_t {
  kUniform,  ///< s / V on each of V pieces, the target among them (Szegedy et al. 2016; PyTorch)
  kOthers,   ///< s / (V - 1) on each piece but the target, which has 1 - s (fairseq)
};

/// What becomes of an update whose loss or gradient is not finite.
enum class NonFinitePolicy : std::uint8_t {
  kStop,     ///< the run ends
  kSkip,     ///< parameters and moments stay as they are
  kRestore,  ///< they become those of the last checkpoint that checkpoint.every asked for
};

/// Dynamic scaling of the loss where gradients are rounded to fp16, whose smallest number is 2^-24 (Micikevicius et al.
/// 2018, sec. 3.2): the gradient of the loss is multiplied by a power of two, and what the optimiser gets is divided by
/// it, neither of which rounds anything. A gradient that is not finite halves the scale, and its update is left out.
struct LossScaleConfig {
  // Powers of two.
  std::int64_t initial = 65536;
  std::int64_t least = 1;  ///< at which a gradient that is not finite is a matter of NonFinitePolicy
  std::int64_t most = 16777216;
  /// So many updates in a row with finite gradients double it; 0: never.
  std::int64_t grow_after = 2000;
};

/// Guided alignment (Chen et al. 2016; Garg et al. 2019): the loss gets `weight` times what it costs that the attention
/// which the model names as its alignment (model.alignment_layer and alignment_heads) is not where the word alignments
/// of the training pairs are, as a mean over all target tokens.
struct GuidedAlignmentConfig {
  double weight = 0.1;
  ops::AlignmentCost cost = ops::AlignmentCost::kCrossEntropy;
  bool operator==(const GuidedAlignmentConfig&) const = default;
};

/// Pieces that a model reads as the unknown token, drawn anew for each batch (Bowman et al. 2016); probabilities.
struct WordDropoutConfig {
  double source = 0;
  double target = 0;
  bool on() const noexcept { return source > 0 || target > 0; }
};

}  // namespace dragoman::training
