#pragma once

#include "scratch.h"
#include "target.h"

#include <initializer_list>
#include <string_view>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/plugins/host.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::fuzz {

/// What stands between the files of a folder that is one input.
inline constexpr std::string_view kNextForeignFile = "\n%%\n";

/// Writes the files of these names; those that the input lacks are not there.
inline std::filesystem::path put_foreign_files(const char* folder_name, std::string_view bytes,
                                               std::initializer_list<const char*> names) {
  const std::filesystem::path folder = scratch() / folder_name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  for (const char* name : names) {
    if (bytes.empty()) break;
    const std::size_t end = bytes.find(kNextForeignFile);
    put_file(folder / name, bytes.substr(0, end));
    bytes = end == std::string_view::npos ? std::string_view() : bytes.substr(end + kNextForeignFile.size());
  }
  return folder;
}

/// Opens the model with an importer and reads every parameter of what it describes. True if that worked.
inline bool read_foreign_model(const char* importer, const std::filesystem::path& path,
                               const core::Json& options = core::Json::object()) {
  static plugins::Host host;
  return accepts([&] {
    const plugins::ModelImporterEntry& entry = host.registry().model_importers().get(importer);
    entry.recognises(path);
    core::OptionReader own(options, "options");
    const auto foreign = entry.make(path, own);
    own.finish();
    const formats::ModelConfig& config = foreign->config();
    if (config.model_type != "transformer") return;
    const auto model = transformer::make_transformer(config.sequences, config.model);
    nn::ParameterStore& store = model->parameters();
    foreign->check(store);
    store.allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
    for (const nn::Parameter& parameter : store.all()) foreign->read(parameter, parameter.value);
    foreign->finish();
  });
}

}  // namespace dragoman::fuzz
