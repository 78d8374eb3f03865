#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// Opens the model to which adapters belong: a model folder, or a path that one of the importers recognises. `where`
/// names the folder of the adapters, for messages.
std::unique_ptr<formats::OpenedModel> open_base_model(const std::filesystem::path& path,
                                                      const std::vector<formats::ModelImporter>& importers,
                                                      const std::string& where);

}  // namespace dragoman::imports
