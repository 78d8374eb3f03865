#include "peft/peft.h"

#include "peft/base_model.h"
#include "peft/example.h"
#include "peft/module_names.h"
#include "peft/peft_files.h"
#include "peft/selected_modules.h"
#include "weights/foreign_tensors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;
using std::filesystem::path;

constexpr std::uint64_t kLongestConfig = std::uint64_t{1} << 20;
/// Names in models have some 60 bytes. Each end of a name is looked up in the lists of the configuration, so time grows
/// with the square of its length.
constexpr std::size_t kMaxTensorName = 1000;
/// Larger values than any in use; they indicate a damaged file.
constexpr std::int64_t kLargestRank = 65536;
constexpr double kLargestAlpha = 1e9;

/// Keys of adapter_config.json that are read and checked.
const std::set<std::string_view> kReadKeys = {"peft_type",
                                              "base_model_name_or_path",
                                              "r",
                                              "lora_alpha",
                                              "rank_pattern",
                                              "alpha_pattern",
                                              "use_rslora",
                                              "target_modules",
                                              "exclude_modules",
                                              "layers_to_transform",
                                              "layers_pattern"};

/// Keys that record how the adapters were trained, or that belong to methods of initialisation and computation that
/// another key makes unsupported.
const std::set<std::string_view> kMeaninglessKeys = {
    "task_type",      "auto_mapping",   "peft_version",     "revision",   "inference_mode",
    "lora_dropout",   "megatron_core",  "loftq_config",     "eva_config", "corda_config",
    "lora_ga_config", "runtime_config", "qalora_group_size"};

/// The contents of adapter_config.json.
class PeftConfig {
 public:
  explicit PeftConfig(const path& file) : file_(file.string()), json_(read(file)), selected_(json_, file_) {
    require(json_.value("peft_type", Json()) == "LORA",
            fmt::format("peft_type is {}; adapters of the type LORA are read", shown("peft_type")));
    for (const auto& [key, value] : json_.items()) check_known(key, value);
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
  /// Throws for a module that the keys do not select, because PEFT would drop its weights.
  void require_selected(std::string_view module) const {
    const auto key = selected_.left_out_by(module);
    if (key)
      core::fail(ErrorCode::kBadInput,
                 "{}: {} is {}, which leaves out the module {}, but the weights hold adapters of it; restore the key "
                 "that the adapters were trained with",
                 file_, *key, shown(std::string(*key).c_str()), core::quote(module));
  }
  /// Returns the factor for the product of a module's matrices.
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
    Json json =
        core::parse_json(core::read_regular_file(file, kLongestConfig), file.string(), core::EqualKeys::kLastCounts);
    core::require(json.is_object(), ErrorCode::kBadInput, "{}: must hold keys and values", file.string());
    return json;
  }
  std::string shown(const char* key) const { return core::quote(core::one_line(json_.value(key, Json()))); }

  /// Rejects unknown keys, including those of later PEFT versions, since any of them may change the meaning of the
  /// adapters. A key that is off or empty does not.
  void check_known(const std::string& key, const Json& value) const {
    if (kReadKeys.contains(key) || kMeaninglessKeys.contains(key)) return;
    const bool is_off = value.is_null() || value == false || (value.is_structured() && value.empty());
    const bool is_usual = key == "bias"                ? value == "none"
                          : key == "init_lora_weights" ? value.is_boolean() || value == "gaussian"
                                                       : false;
    if (is_off || is_usual) return;
    core::fail(ErrorCode::kUnsupported,
               "{}: {} is {}, which is not understood here; merge the adapters in PEFT (merge_and_unload), and import "
               "what it saves",
               file_, core::Quoted{key}, core::quote(core::one_line(value)));
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
  /// Returns the value for the first name in the file that is the module's name, or its end after a dot. Looks up the
  /// module's ends, because comparing all names with all modules would take the product of both numbers.
  const Json* value_for(std::string_view module, const char* pattern) const {
    const auto [known, is_new] = patterns_.try_emplace(pattern);
    NamesOfPattern& names = known->second;
    if (const auto found = json_.find(pattern); is_new && found != json_.end() && found->is_object())
      for (const auto& [name, value] : found->items()) names.try_emplace(name, names.size(), &value);
    const std::pair<std::size_t, const Json*>* first = nullptr;
    for (std::size_t at = 0; at != std::string_view::npos;) {
      const auto found = names.find(module.substr(at));
      if (found != names.end() && (first == nullptr || found->second.first < first->first)) first = &found->second;
      const std::size_t dot = module.find('.', at);
      at = dot == std::string_view::npos ? dot : dot + 1;
    }
    return first == nullptr ? nullptr : first->second;
  }
  double of_module(const char* pattern, const char* usual, std::string_view module) const {
    const double most = std::string_view(usual) == "r" ? static_cast<double>(kLargestRank) : kLargestAlpha;
    if (const Json* value = value_for(module, pattern)) return positive(*value, pattern, most);
    const auto found = json_.find(usual);
    require(found != json_.end(), fmt::format("{} is missing", usual));
    return positive(*found, usual, most);
  }
  double positive(const Json& value, const char* key, double most) const {
    require(value.is_number() && value.get<double>() > 0 && value.get<double>() <= most,
            fmt::format("{} is {}; it must be a number above 0, and at most {:.0f}", key,
                        core::quote(core::one_line(value)), most));
    return value.get<double>();
  }

  using NamesOfPattern = std::map<std::string, std::pair<std::size_t, const Json*>, std::less<>>;

  std::string file_;
  Json json_;
  SelectedModules selected_;
  mutable std::map<std::string, NamesOfPattern, std::less<>> patterns_;  ///< of rank_pattern and alpha_pattern
};

ForeignTensors open_adapters(const path& folder) {
  ForeignTensors tensors(folder.string());
  if (std::error_code ignored; std::filesystem::exists(folder / kAdapterWeights, ignored))
    add_safetensors(tensors, folder / kAdapterWeights);
  else
    add_torch(tensors, folder / kAdapterWeightsOfTorch);
  return tensors;
}

/// Returns the names of modules that have an A. A tensor that is not part of a pair is an error.
std::set<std::string> modules_in(const ForeignTensors& tensors) {
  std::set<std::string> modules;
  for (const std::string& name : tensors.names()) {
    const bool known = name.starts_with(kModulePrefix) && (name.ends_with(kLoraA) || name.ends_with(kLoraB));
    core::require(known, ErrorCode::kUnsupported,
                  "{}: the tensor {} is no low-rank matrix of a linear layer; merge the adapters in PEFT "
                  "(merge_and_unload), and import what it saves",
                  tensors.file(), core::quote(name));
    core::require(name.size() <= kMaxTensorName, ErrorCode::kBadInput,
                  "{}: the name of the tensor {} has {} bytes; names of tensors have at most {}", tensors.file(),
                  core::quote(name), name.size(), kMaxTensorName);
    if (!name.ends_with(kLoraA)) continue;
    const auto module = name.substr(kModulePrefix.size(), name.size() - kModulePrefix.size() - kLoraA.size());
    static_cast<void>(tensors.get(tensor_name(module, kLoraB)));
    modules.insert(module);
  }
  core::require(!modules.empty(), ErrorCode::kBadInput, "{}: holds no adapters", tensors.file());
  return modules;
}

class PeftModel final : public formats::OpenedModel {
 public:
  PeftModel(std::filesystem::path folder, std::unique_ptr<formats::OpenedModel> base, PeftConfig config)
      : folder_(std::move(folder)),
        base_(std::move(base)),
        config_(std::move(config)),
        tensors_(open_adapters(folder_)),
        known_(base_->config().model_type, base_->config().model),
        names_(modules_in(tensors_)) {
    for (const std::string& module : names_) config_.require_selected(module);
  }

  const std::filesystem::path& path() const noexcept override { return folder_; }
  const formats::ModelConfig& config() const noexcept override { return base_->config(); }
  formats::ModelTokenizers tokenizers() const override { return base_->tokenizers(); }
  std::string shortlist() const override { return base_->shortlist(); }
  std::vector<std::string> warnings() const override { return base_->warnings(); }
  std::string card() const override {
    const std::string of_base = base_->card();
    return of_base + fmt::format(
                         "{}## Adapters\n\nWith the low-rank adapters of {}; what stands above was said of the model "
                         "without them.\n",
                         of_base.empty() ? "" : "\n\n",
                         std::filesystem::absolute(folder_).lexically_normal().filename().string());
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

  /// Returns the modules of a parameter that have adapters, under the names of transformers and of Dragoman, which
  /// differ.
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

  std::filesystem::path folder_;
  std::unique_ptr<formats::OpenedModel> base_;
  PeftConfig config_;
  ForeignTensors tensors_;
  TransformersModules known_;
  std::set<std::string> names_;  ///< of the modules that have adapters
};

/// Returns the path relative to the adapters if it is relative and exists there, otherwise the path as given.
path base_of(const path& folder, const PeftConfig& config, const std::string& option) {
  const path named = option.empty() ? path(config.base()) : path(option);
  config.require(!named.empty(), "base_model_name_or_path is missing; name the model as the import option `base`");
  std::error_code ignored;
  const bool beside = option.empty() && named.is_relative() && std::filesystem::exists(folder / named, ignored);
  return beside ? folder / named : named;
}

}  // namespace

formats::ModelImporter peft_importer(std::vector<formats::ModelImporter> bases) {
  return {.name = "peft",
          .summary = "low-rank adapters (LoRA) of PEFT, merged with the model that they name",
          .make = [bases = std::move(bases)](const path& folder,
                                             core::OptionReader& own) -> std::unique_ptr<formats::OpenedModel> {
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
