#pragma once

#include "matrix.h"
#include "sentences.h"

#include <memory>
#include <optional>

#include <dragoman/autograd/tape.h>
#include <dragoman/core/parallel.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/plugins/registry.h>

namespace dragoman::plugins {

struct SubjectOptions {
  tensor::Device device = tensor::Device::kReference;
  int threads = 1;
  /// Weights packed as for translation, to be multiplied in this; else plain, as in training.
  std::optional<tensor::ComputeType> packed{};
};

/// A model of the example configuration on one device, with the same random parameters on every device: no bias is zero
/// and no gain is one, since what is zero hides faults.
class Subject {
 public:
  Subject(const ModelEntry& entry, const runtime::Runtime& runtime, const SubjectOptions& options);
  /// A second object of the same kind, made of the first one's own account of its configuration, without parameter
  /// values.
  static std::unique_ptr<nn::Seq2SeqModel> remade(const ModelEntry& entry, const nn::Seq2SeqModel& model);

  nn::Seq2SeqModel& model() noexcept { return *model_; }
  tensor::Context& context() noexcept { return *context_; }
  tensor::DType dtype() const noexcept { return context_->float_type(); }
  tensor::DeviceMemory& memory() const noexcept { return context_->memory(); }

 private:
  std::unique_ptr<core::Executor> executor_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
  std::unique_ptr<tensor::Context> context_;
};

/// How a whole pass is run. The example has no dropout, so these must make no difference to the states.
struct PassMode {
  bool record = false;
  bool training = false;
};

/// Encoder output of the sources, [T_source, d].
Matrix encode(Subject& subject, const std::vector<Pair>& pairs);
/// Decoder output by teacher forcing, [T_target, d].
Matrix decode_whole(Subject& subject, const std::vector<Pair>& pairs, const PassMode& mode = {});
/// The same of a model that is not the subject's own, in the subject's context.
Matrix decode_whole(tensor::Context& context, const nn::Seq2SeqModel& model, const std::vector<Pair>& pairs,
                    const PassMode& mode = {});

/// Summed label-smoothed cross-entropy of teacher forcing on `pairs` with random labels. With `gradients` (which must
/// be attached) they are begun and computed.
double loss(Subject& subject, const std::vector<Pair>& pairs, bool gradients);

}  // namespace dragoman::plugins
