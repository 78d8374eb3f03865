#include "peft/peft.h"

#include "peft/base_model.h"
#include "peft/example.h"
#include "peft/module_names.h"
#include "peft/peft_files.h"
#include "weights/foreign_tensors.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/quote.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;
using std::filesystem::path;

constexpr std::uint64_t kLongestConfig = std::uint64_t{1} << 20;
/// Above any that somebody uses; what is larger is damage.
constexpr std::int64_t kLargestRank = 65536;

/// A pattern of rank_pattern or alpha_pattern is a regular expression for the end of a module's name; names alone are
/// understood here.
bool ends_in(std::string_view module, std::string_view pattern) {
  if (!module.ends_with(pattern)) return false;
  return module.size() == pattern.size() || module[module.size() - pattern.size() - 1] == '.';
}

/// What adapter_config.json says.
class PeftConfig {
 public:
  explicit PeftConfig(const path& file) : file_(file.string()), json_(read(file)) {
    require(json_.value("peft_type", Json()) == "LORA",
            fmt::format("peft_type is {}; adapters of the type LORA are read", shown("peft_type")));
    refuse_unless("use_dora", [](const Json& value) { return value == false; });
    refuse_unless("modules_to_save", [](const Json& value) { return value.is_array() && value.empty(); });
    refuse_unless("layer_replication", [](const Json& value) { return value.is_array() && value.empty(); });
    refuse_unless("megatron_config", [](const Json&) { return false; });
    refuse_unless("bias", [](const Json& value) { return value == "none"; });
    // Those that begin otherwise change the model itself, too.
    refuse_unless("init_lora_weights", [](const Json& value) { return value.is_boolean() || value == "gaussian"; });
    for (const char* key : {"rank_pattern", "alpha_pattern"}) check_pattern(key);
    if (const auto key = json_.find("use_rslora"); key != json_.end() && !key->is_null())
      require(key->is_boolean(), "use_rslora must be true or false");
    if (!json_.value("base_model_name_or_path", Json()).is_null())
      require(json_["base_model_name_or_path"].is_string(), "base_model_name_or_path must be text");
  }

  const std::string& file() const { return file_; }
  std::string base() const {
    const auto found = json_.find("base_model_name_or_path");
    return found == json_.end() || found->is_null() ? std::string() : found->get<std::string>();
  }
  /// What the product of a module's matrices is multiplied by.
  double scale_of(std::string_view module, std::int64_t rank) const {
    const double expected = of_module("rank_pattern", "r", module);
    require(expected == static_cast<double>(rank),
            fmt::format("r of the module {} is {} here, and {} in the weights", core::quote(module), expected, rank));
    const double alpha = of_module("alpha_pattern", "lora_alpha", module);
    return alpha / (json_.value("use_rslora", Json()) == true ? std::sqrt(expected) : expected);
  }
  void require(bool holds, std::string_view reason) const {
    if (!holds) core::fail(ErrorCode::kBadInput, "{}: {}", file_, reason);
  }

 private:
  static Json read(const path& file) {
    Json json = core::parse_json(core::read_regular_file(file, kLongestConfig), file.string());
    core::require(json.is_object(), ErrorCode::kBadInput, "{}: must hold keys and values", file.string());
    return json;
  }
  std::string shown(const char* key) const { return core::quote(core::one_line(json_.value(key, Json()))); }

  template <class Accept>
  void refuse_unless(const char* key, Accept accept) const {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null() || accept(*found)) return;
    core::fail(ErrorCode::kUnsupported,
               "{}: {} is {}, which is not understood here; merge the adapters in PEFT (merge_and_unload), and import "
               "what it saves",
               file_, key, shown(key));
  }
  void check_pattern(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) return;
    require(found->is_object(), fmt::format("{} must hold names and numbers", key));
    for (const auto& [name, value] : found->items()) {
      require(value.is_number(), fmt::format("{}: {} must be a number", key, core::quote(name)));
      const bool plain = std::ranges::all_of(
          name, [](unsigned char byte) { return std::isalnum(byte) != 0 || byte == '_' || byte == '.'; });
      if (!plain)
        core::fail(ErrorCode::kUnsupported, "{}: {}: {} is a pattern; names of modules are understood", file_, key,
                   core::quote(name));
    }
  }
  double of_module(const char* pattern, const char* usual, std::string_view module) const {
    if (const auto found = json_.find(pattern); found != json_.end() && found->is_object())
      for (const auto& [name, value] : found->items())
        if (ends_in(module, name)) return positive(value, pattern);
    const auto found = json_.find(usual);
    require(found != json_.end(), fmt::format("{} is missing", usual));
    return positive(*found, usual);
  }
  double positive(const Json& value, const char* key) const {
    require(value.is_number() && value.get<double>() > 0 && value.get<double>() <= 1e9,
            fmt::format("{} is {}; it must be a number above 0", key, core::quote(core::one_line(value))));
    return value.get<double>();
  }

  std::string file_;
  Json json_;
};

ForeignTensors open_adapters(const path& folder) {
  ForeignTensors tensors(folder.string());
  if (std::error_code ignored; std::filesystem::exists(folder / kAdapterWeights, ignored))
    add_safetensors(tensors, folder / kAdapterWeights);
  else
    add_torch(tensors, folder / kAdapterWeightsOfTorch);
  return tensors;
}

/// The names of modules that have an A; a tensor that is no part of a pair is an error.
std::set<std::string> modules_in(const ForeignTensors& tensors) {
  std::set<std::string> modules;
  for (const std::string& name : tensors.names()) {
    const bool known = name.starts_with(kModulePrefix) && (name.ends_with(kLoraA) || name.ends_with(kLoraB));
    core::require(known, ErrorCode::kUnsupported,
                  "{}: the tensor {} is no low-rank matrix of a linear layer; merge the adapters in PEFT "
                  "(merge_and_unload), and import what it saves",
                  tensors.file(), core::quote(name));
    if (!name.ends_with(kLoraA)) continue;
    const auto module = name.substr(kModulePrefix.size(), name.size() - kModulePrefix.size() - kLoraA.size());
    static_cast<void>(tensors.get(tensor_name(module, kLoraB)));
    modules.insert(module);
  }
  core::require(!modules.empty(), ErrorCode::kBadInput, "{}: holds no adapters", tensors.file());
  return modules;
}

class PeftModel final : public plugins::ForeignModel {
 public:
  PeftModel(path folder, std::unique_ptr<plugins::ForeignModel> base, PeftConfig config)
      : folder_(std::move(folder)),
        base_(std::move(base)),
        config_(std::move(config)),
        tensors_(open_adapters(folder_)),
        description_(base_->describe()),
        known_(description_.model_type, description_.model),
        names_(modules_in(tensors_)) {}

  plugins::ModelDescription describe() const override {
    plugins::ModelDescription description = description_;
    description.card += fmt::format(
        "{}## Adapters\n\nWith the low-rank adapters of {}; what stands above was said of the model without them.\n",
        description.card.empty() ? "" : "\n\n",
        std::filesystem::absolute(folder_).lexically_normal().filename().string());
    return description;
  }

  void check(const nn::ParameterStore& parameters) const override {
    base_->check(parameters);
    std::set<std::string> without_weight = names_;
    for (const nn::Parameter& weight : parameters.all())
      for (const AdaptedModule& module : adapters_of(weight)) {
        const std::int64_t rank = rank_of(module);
        tensors_.check_shape(tensor_name(module.name, kLoraA), {rank, weight.cols});
        tensors_.check_shape(tensor_name(module.name, kLoraB), {weight.rows / module.parts, rank});
        static_cast<void>(config_.scale_of(module.name, rank));
        without_weight.erase(module.name);
      }
    if (!without_weight.empty())
      core::fail(ErrorCode::kBadInput,
                 "{}: the module {} is no linear layer of the model that the adapters are merged with; is it the one "
                 "that they were trained for?",
                 tensors_.file(), core::quote(*without_weight.begin()));
  }

  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override {
    base_->read(parameter, out);
    for (const AdaptedModule& adapter : adapters_of(parameter)) add(adapter, out);
  }

  void finish() override {
    base_->finish();
    tensors_.finish();
  }

 private:
  std::int64_t rank_of(const AdaptedModule& module) const {
    const std::vector<std::int64_t>& shape = tensors_.get(tensor_name(module.name, kLoraA)).shape;
    const std::int64_t rank = shape.empty() ? 0 : shape.front();
    config_.require(rank >= 1 && rank <= kLargestRank,
                    fmt::format("the rank of the module {} is {}", core::quote(module.name), rank));
    return rank;
  }

  /// The modules of a parameter that have adapters, by transformers' names and by ours, which differ.
  std::vector<AdaptedModule> adapters_of(const nn::Parameter& parameter) const {
    if (!parameter.is_weight) return {};
    std::vector<AdaptedModule> modules;
    if (!parameter.is_table) modules = known_.of(parameter.name);
    modules.push_back({own_module_name(parameter.name), parameter.name, 0, 1});
    std::erase_if(modules, [&](const AdaptedModule& module) { return !names_.contains(module.name); });
    return modules;
  }

  /// Adds scale * B A to the module's share of a weight.
  void add(const AdaptedModule& module, const tensor::Tensor& weight) {
    const std::string a_name = tensor_name(module.name, kLoraA), b_name = tensor_name(module.name, kLoraB);
    const std::int64_t rank = rank_of(module);
    const std::int64_t rows = weight.rows / module.parts;
    const double scale = config_.scale_of(module.name, rank);
    const std::vector<float> a = values(a_name, rank, weight.cols), b = values(b_name, rows, rank);
    for (std::int64_t row = 0; row < rows; ++row) {
      float* const out = weight.row<float>(module.part * rows + row);
      for (std::int64_t k = 0; k < rank; ++k) {
        const auto factor =
            static_cast<float>(scale * static_cast<double>(b[static_cast<std::size_t>(row * rank + k)]));
        const float* const from = a.data() + k * weight.cols;
        for (std::int64_t col = 0; col < weight.cols; ++col) out[col] += factor * from[col];
      }
    }
  }

  std::vector<float> values(const std::string& name, std::int64_t rows, std::int64_t cols) {
    std::vector<float> result(static_cast<std::size_t>(rows * cols));
    tensors_.read(name, {rows, cols}, {result.data(), rows, cols, cols, tensor::DType::kF32, tensor::Device::kCpu});
    return result;
  }

  path folder_;
  std::unique_ptr<plugins::ForeignModel> base_;
  PeftConfig config_;
  ForeignTensors tensors_;
  plugins::ModelDescription description_;
  TransformersModules known_;
  std::set<std::string> names_;  ///< of the modules that have adapters
};

/// Beside the adapters if it is relative and there, else as it is named.
path base_of(const path& folder, const PeftConfig& config, const std::string& option) {
  const path named = option.empty() ? path(config.base()) : path(option);
  config.require(!named.empty(), "base_model_name_or_path is missing; name the model as the import option `base`");
  std::error_code ignored;
  const bool beside = option.empty() && named.is_relative() && std::filesystem::exists(folder / named, ignored);
  return beside ? folder / named : named;
}

}  // namespace

plugins::ModelImporterEntry peft_importer(std::vector<plugins::ModelImporterEntry> bases) {
  return {.name = "peft",
          .summary = "low-rank adapters (LoRA) of PEFT, merged with the model that they name",
          .make = [bases = std::move(bases)](const path& folder,
                                             core::OptionReader& own) -> std::unique_ptr<plugins::ForeignModel> {
            PeftConfig config(folder / kAdapterConfig);
            const path base = base_of(folder, config, own.get("base", ""));
            auto model = open_base_model(base, bases, config.file());
            return std::make_unique<PeftModel>(folder, std::move(model), std::move(config));
          },
          .recognises =
              [](const path& folder) {
                std::error_code ignored;
                return std::filesystem::is_regular_file(folder / kAdapterConfig, ignored);
              },
          .write_example = write_peft_example};
}

}  // namespace dragoman::imports
