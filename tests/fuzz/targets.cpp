#include "targets.h"

#include "checksums_harness.h"
#include "compressed_harness.h"
#include "count_lines_harness.h"
#include "dictionary_harness.h"
#include "model_config_harness.h"
#include "model_folder_harness.h"
#include "pattern_harness.h"
#include "pipeline_config_harness.h"
#include "plugin_descriptor_harness.h"
#include "records_harness.h"
#include "resume_harness.h"
#include "safetensors_harness.h"
#include "tokenizer_formats_harness.h"
#include "tokenizer_json_harness.h"
#include "training_config_harness.h"
#include "training_state_harness.h"
#include "yaml_harness.h"

namespace dragoman::fuzz {

std::vector<Target> all_targets() {
  return {checksums_target(),
          compressed_target(),
          count_lines_target(),
          dictionary_target(),
          model_config_target(),
          model_folder_target(),
          pattern_target(),
          pipeline_config_target(),
          records_target(),
          plugin_descriptor_target(),
          resume_target(),
          safetensors_target(),
          tokenizer_json_target(),
          tokenizer_formats_target(),
          training_config_target(),
          training_state_target(),
          yaml_target()};
}

}  // namespace dragoman::fuzz
