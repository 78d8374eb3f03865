#pragma once

#include "weights/foreign_tensors.h"

#include <filesystem>
#include <memory>

#include <dragoman/core/json.h>

namespace dragoman::imports {

/// A checkpoint as fairseq-train writes it: the model's tensors, and what was said on its command line, flat
/// ("encoder_layers"), whether it is an argparse.Namespace (before 0.10), the objects of omegaconf, or a dictionary.
struct FairseqCheckpoint {
  std::unique_ptr<ForeignTensors> weights;
  core::Json settings = core::Json::object();
  std::string task{};
};

/// Error{kBadInput} for a file that is none.
FairseqCheckpoint open_fairseq_checkpoint(const std::filesystem::path& file);

}  // namespace dragoman::imports
