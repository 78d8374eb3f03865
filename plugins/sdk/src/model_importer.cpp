#include "dragoman/plugins/model_importer.h"

namespace dragoman::plugins {

ForeignModel::~ForeignModel() = default;

void ForeignModel::check(const nn::ParameterStore& parameters) const {
  static_cast<void>(parameters);
}

}  // namespace dragoman::plugins
