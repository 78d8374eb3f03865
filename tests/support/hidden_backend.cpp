#include "hidden_backend.h"

#include <dragoman/ops/adam.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/ops/rows.h>
#include <dragoman/ops/softmax.h>
#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::testing {

HiddenBackend::HiddenBackend(const tensor::KernelTable& cpu, std::string_view name) : Backend(name) {
  wrap<ops::kAdd>(cpu);
  wrap<ops::kAddRow>(cpu);
  wrap<ops::kScale>(cpu);
  wrap<ops::kMultiply>(cpu);
  wrap<ops::kColumnSum>(cpu);
  wrap<ops::kActivation>(cpu);
  wrap<ops::kActivationBackward>(cpu);
  wrap<ops::kDropout>(cpu);
  wrap<ops::kMatMul>(cpu);
  wrap<ops::kPackWeight>(cpu);
  wrap<ops::kLinear>(cpu);
  wrap<ops::kLayerNorm>(cpu);
  wrap<ops::kLayerNormBackward>(cpu);
  wrap<ops::kResidualLayerNorm>(cpu);
  wrap<ops::kResidualLayerNormBackward>(cpu);
  wrap<ops::kSoftmax>(cpu);
  wrap<ops::kSoftmaxBackward>(cpu);
  wrap<ops::kCrossEntropyRows>(cpu);
  wrap<ops::kEmbedding>(cpu);
  wrap<ops::kEmbeddingBackward>(cpu);
  wrap<ops::kAttention>(cpu);
  wrap<ops::kAttentionBackward>(cpu);
  wrap<ops::kCachedAttention>(cpu);
  wrap<ops::kProjectTopK>(cpu);
  wrap<ops::kGatherRows>(cpu);
  wrap<ops::kScatterRows>(cpu);
  wrap<ops::kAdam>(cpu);
  wrap<ops::kSumOfSquares>(cpu);
  cpu.for_each_name([&](std::string_view op) {
    bool known = false;
    kernels().for_each_name([&](std::string_view wrapped) { known = known || wrapped == op; });
    if (!known && op.find('.') == std::string_view::npos)  // with a dot: a plugin's
      core::fail(core::ErrorCode::kInternal, "the hidden backend has no kernel for the op '{}'", op);
  });
}

}  // namespace dragoman::testing
