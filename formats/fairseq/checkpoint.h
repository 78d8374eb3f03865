#pragma once

#include "weights/foreign_tensors.h"

#include <filesystem>
#include <memory>

#include <dragoman/core/json.h>

namespace dragoman::imports {

/// A checkpoint of fairseq-train: the model's tensors and the settings of its command line. The settings are flat
/// ("encoder_layers"), whether they were an argparse.Namespace (before 0.10), objects of omegaconf, or a dictionary.
struct FairseqCheckpoint {
  std::unique_ptr<ForeignTensors> weights;
  core::Json settings = core::Json::object();
  std::string task{};
};

/// Throws Error{kBadInput} for a file that is not a checkpoint.
FairseqCheckpoint open_fairseq_checkpoint(const std::filesystem::path& file);

}  // namespace dragoman::imports
