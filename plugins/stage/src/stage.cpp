#include "dragoman/pipeline_api/stage.h"

namespace dragoman::pipeline {

MapStage::~MapStage() = default;

}  // namespace dragoman::pipeline
