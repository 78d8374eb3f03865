#include "dragoman/formats/opened_model.h"

#include <algorithm>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::formats {
namespace {

/// Fills a tensor with NaN. A value that no reader sets stays NaN, and the check for non-finite values rejects it.
void mark_unread(const tensor::Tensor& out) {
  std::fill_n(out.as<float>(), out.size(), std::numeric_limits<float>::quiet_NaN());
}

}  // namespace

OpenedModel::~OpenedModel() = default;

OpenedTokenizers OpenedModel::open_tokenizers(const TokenizerOpener& opener) const {
  const std::string where = path().string();
  const auto open = [&](const tokenizer::TokenizerSpec& spec, std::int64_t size) {
    std::shared_ptr<const tokenizer::Tokenizer> made = opener(spec, {path(), spec.content}, where + ": tokenizer");
    core::require(made == nullptr || made->size() == size, core::ErrorCode::kBadInput,
                  "{}: its tokenizer has {} pieces, but the model {}", where, made == nullptr ? 0 : made->size(), size);
    return made;
  };
  const ModelTokenizers files = tokenizers();
  OpenedTokenizers opened{.source = open(files.of_source(), config().sequences.source_vocabulary)};
  opened.target = files.is_joint() ? opened.source : open(files.of_target(), config().sequences.target_vocabulary);
  return opened;
}

void OpenedModel::load(nn::Seq2SeqModel& model, const LoadOptions& options) {
  const std::lock_guard lock(loading_);
  load_values(model, options);
}

void OpenedModel::load_values(nn::Seq2SeqModel& model, const LoadOptions& options) {
  nn::ParameterStore& store = model.parameters();
  check(store);
  store.allocate(*options.device_memory, options.dtype, options.device);
  std::vector<float> values;
  for (const nn::Parameter& parameter : store.all()) {
    const auto view = tensor::HostView::to_be_written(store.memory(), parameter.value);
    if (options.dtype == tensor::DType::kF32) {
      mark_unread(view.tensor());
      read(parameter, view.tensor());
    } else {
      values.resize(static_cast<std::size_t>(parameter.rows * parameter.cols));
      const tensor::Tensor host{values.data(),  parameter.rows,      parameter.cols,
                                parameter.cols, tensor::DType::kF32, tensor::Device::kCpu};
      mark_unread(host);
      read(parameter, host);
      for (std::int64_t row = 0; row < host.rows; ++row)
        for (std::int64_t col = 0; col < host.cols; ++col)
          tensor::set_element(view.tensor(), row, col, tensor::element(host, row, col));
    }
    view.store();
  }
  store.values_changed();
  finish();
}

}  // namespace dragoman::formats
