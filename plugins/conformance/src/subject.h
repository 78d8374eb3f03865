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
  /// If set, weights are packed for this type, as for translation. Otherwise they are plain, as in training.
  std::optional<tensor::ComputeType> packed{};
};

/// A model of the example configuration on one device, with the same random parameters on every device. No bias is zero
/// and no gain is one, because such values hide faults.
class Subject {
 public:
  Subject(const ModelEntry& entry, const runtime::Runtime& runtime, const SubjectOptions& options);
  /// Returns a second model that is created from the configuration that the first one reports, without parameter
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

/// The mode of a complete pass. The example has no dropout, so the mode must not affect the states.
struct PassMode {
  bool record = false;
  bool training = false;
};

/// Returns the encoder output for the sources, [T_source, d].
Matrix encode(Subject& subject, const std::vector<Pair>& pairs);
/// Returns the decoder output of teacher forcing, [T_target, d].
Matrix decode_whole(Subject& subject, const std::vector<Pair>& pairs, const PassMode& mode = {});
/// Like the function above, for another model in the subject's context.
Matrix decode_whole(tensor::Context& context, const nn::Seq2SeqModel& model, const std::vector<Pair>& pairs,
                    const PassMode& mode = {});

/// Returns the summed label-smoothed cross-entropy of teacher forcing on `pairs` with random labels. With `gradients`,
/// also begins and computes the gradients, which must be attached.
double loss(Subject& subject, const std::vector<Pair>& pairs, bool gradients);

}  // namespace dragoman::plugins
