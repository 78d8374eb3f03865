#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace dragoman::formats {

/// Returns a message that names the model folders in `folder`, so that the user can choose one. Empty if there are
/// none.
std::string describe_models_within(const std::filesystem::path& folder,
                                   const std::function<bool(const std::filesystem::path&)>& is_model);

}  // namespace dragoman::formats
