#include "dragoman/plugins/model_importer.h"

namespace dragoman::plugins {

ForeignModel::~ForeignModel() = default;

}  // namespace dragoman::plugins
