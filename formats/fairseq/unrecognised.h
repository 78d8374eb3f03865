#pragma once

#include <filesystem>
#include <string>

namespace dragoman::imports {

/// Returns the reason why a file of torch is not a checkpoint of fairseq that can be imported; empty if the path is not
/// a file of torch.
std::string why_no_fairseq(const std::filesystem::path& path);

}  // namespace dragoman::imports
