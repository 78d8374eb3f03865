#include "dragoman/imports/adapters.h"

#include "peft/module_names.h"
#include "peft/peft_files.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::Json;
using std::filesystem::path;

/// A pair of matrices as in the file.
struct Module {
  std::string name;
  std::int64_t rank = 1;
  std::vector<float> a;  ///< [rank, inputs]
  std::vector<float> b;  ///< [outputs, rank]
};

std::vector<float> rows_of(const tensor::Tensor& matrix, std::int64_t begin, std::int64_t end) {
  return {matrix.row<float>(begin), matrix.row<float>(begin) + (end - begin) * matrix.cols};
}

/// Returns one module for all projections of a weight: their A matrices are stacked, and their B matrices are the
/// blocks of a diagonal.
Module joined(const WeightAdapter& adapter, std::int64_t rank) {
  Module module{
      own_module_name(adapter.parameter), adapter.projections * rank, rows_of(adapter.a, 0, adapter.a.rows), {}};
  const std::int64_t share = adapter.b.rows / adapter.projections;
  module.b.resize(static_cast<std::size_t>(adapter.b.rows * module.rank));
  for (std::int64_t row = 0; row < adapter.b.rows; ++row)
    std::copy_n(adapter.b.row<float>(row), rank, module.b.data() + row * module.rank + row / share * rank);
  return module;
}

std::vector<Module> modules_of(const AdapterSet& adapters) {
  const TransformersModules known(adapters.model_type, adapters.model);
  std::vector<Module> modules;
  for (const WeightAdapter& adapter : adapters.weights) {
    const std::size_t before = modules.size();
    for (const AdaptedModule& module : known.of(adapter.parameter)) {
      if (module.parts != adapter.projections) continue;
      const std::int64_t share = adapter.b.rows / module.parts;
      modules.push_back({module.name, adapters.rank,
                         rows_of(adapter.a, module.part * adapters.rank, (module.part + 1) * adapters.rank),
                         rows_of(adapter.b, module.part * share, (module.part + 1) * share)});
    }
    if (modules.size() == before) modules.push_back(joined(adapter, adapters.rank));
  }
  return modules;
}

Json configuration(const AdapterSet& adapters, const std::vector<Module>& modules) {
  Json targets = Json::array(), ranks = Json::object(), alphas = Json::object();
  for (const Module& module : modules) {
    targets.push_back(module.name);
    if (module.rank == adapters.rank) continue;
    ranks[module.name] = module.rank;
    alphas[module.name] = adapters.alpha * static_cast<double>(module.rank) / static_cast<double>(adapters.rank);
  }
  return {{"peft_type", "LORA"},
          {"task_type", "SEQ_2_SEQ_LM"},
          {"base_model_name_or_path", adapters.base.string()},
          {"inference_mode", true},
          {"r", adapters.rank},
          {"lora_alpha", adapters.alpha},
          {"lora_dropout", 0.0},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"init_lora_weights", true},
          {"use_rslora", false},
          {"use_dora", false},
          {"modules_to_save", nullptr},
          {"rank_pattern", std::move(ranks)},
          {"alpha_pattern", std::move(alphas)},
          {"target_modules", std::move(targets)}};
}

}  // namespace

void require_room_for_adapters(const path& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(folder, ignored))) return;
  core::require(std::filesystem::is_directory(std::filesystem::symlink_status(folder, ignored)),
                core::ErrorCode::kInvalidArgument, "{}: is in the way of a folder of adapters; remove it",
                folder.string());
  for (const path& entry : core::list_folder(folder)) {
    const std::string name = entry.filename().string();
    core::require(name == kAdapterConfig || name == kAdapterWeights, core::ErrorCode::kInvalidArgument,
                  "{}: is in the way of adapters, and would be lost; move it elsewhere", entry.string());
  }
}

void write_adapters(const path& folder, const AdapterSet& adapters) {
  const std::vector<Module> modules = modules_of(adapters);
  require_room_for_adapters(folder);
  core::StagedFolder staged(folder);
  std::vector<formats::TensorSpec> specs;
  for (const Module& module : modules) {
    const auto length = [&](const std::vector<float>& values) {
      return static_cast<std::int64_t>(values.size()) / module.rank;
    };
    specs.push_back({.name = tensor_name(module.name, kLoraA), .shape = {module.rank, length(module.a)}});
    specs.push_back({.name = tensor_name(module.name, kLoraB), .shape = {length(module.b), module.rank}});
  }
  formats::SafetensorsWriter writer(staged.folder() / kAdapterWeights, specs, {{"format", "pt"}});
  for (const Module& module : modules)
    for (const std::vector<float>& values : {module.a, module.b}) {
      const auto count = static_cast<std::int64_t>(values.size());
      writer.write({const_cast<float*>(values.data()), 1, count, count, tensor::DType::kF32, tensor::Device::kCpu});
    }
  writer.finish();
  core::write_file(staged.folder() / kAdapterConfig, configuration(adapters, modules).dump(2) + "\n");
  staged.commit();
}

}  // namespace dragoman::imports
