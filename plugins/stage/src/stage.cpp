#include "dragoman/pipeline_api/stage.h"

namespace dragoman::pipeline {

MapStage::~MapStage() = default;

void MapStage::process_batch(std::span<Record* const> records) const {
  for (Record* record : records) process(*record);
}

}  // namespace dragoman::pipeline
