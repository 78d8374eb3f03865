#include "dragoman/formats/parameters.h"

#include "convert.h"
#include "dragoman/formats/mapped_file.h"

#include <algorithm>
#include <unordered_set>

#include <dragoman/core/error.h>
#include <dragoman/core/hash.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::Json;
using core::quote;

constexpr std::size_t kShown = 4;

/// "a, b, c, d and 17 more"
std::string first_few(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), kShown); ++i) text += (i == 0 ? "" : ", ") + items[i];
  return items.size() > kShown ? fmt::format("{} and {} more", text, items.size() - kShown) : text;
}

/// Every key of the configuration whose value is `number`, as a dotted path: the likely reason why a dimension is what
/// it is.
void keys_with_value(const Json& node, const std::string& path, std::int64_t number, std::vector<std::string>& keys) {
  if (node.is_number_integer() && node == number) keys.push_back(path);
  if (!node.is_object()) return;
  for (const auto& [key, value] : node.items())
    keys_with_value(value, path.empty() ? key : path + "." + key, number, keys);
}

std::string likely_keys(const std::vector<std::int64_t>& configured, const std::vector<std::int64_t>& stored,
                        const Json* configuration) {
  if (configuration == nullptr || configured.size() != stored.size()) return {};
  std::string text;
  for (std::size_t i = 0; i < configured.size(); ++i) {
    if (configured[i] == stored[i]) continue;
    std::vector<std::string> keys;
    keys_with_value(*configuration, "", configured[i], keys);
    if (!keys.empty()) text += fmt::format("; see {} = {} in the configuration", first_few(keys), configured[i]);
  }
  return text;
}

/// Collects everything in which a file and a store differ, so that one message tells the whole story.
class Comparison {
 public:
  Comparison(const SafetensorsFile& file, const nn::ParameterStore& store, const Json* configuration) : file_(&file) {
    std::unordered_set<std::string_view, core::TextHash> wanted;
    for (const nn::Parameter& parameter : store.all()) {
      wanted.insert(parameter.name);
      compare(parameter, configuration);
    }
    for (const StoredTensor& stored : file.tensors())
      if (!wanted.contains(stored.name)) surplus_.push_back(quote(stored.name));
  }

  void require_equal() const {
    if (missing_.empty() && surplus_.empty() && reshaped_.empty()) return;
    std::string text;
    append(text, reshaped_, "of another shape");
    append(text, missing_, "that the configuration says but the file lacks");
    append(text, surplus_, "that the file has but the configuration does not say");
    core::fail(ErrorCode::kBadInput,
               "{}: the weights do not fit the configuration: {}; use the configuration that they were saved with",
               file_->name(), text);
  }

 private:
  void compare(const nn::Parameter& parameter, const Json* configuration) {
    const StoredTensor* stored = file_->find(parameter.name);
    if (stored == nullptr) {
      missing_.push_back(quote(parameter.name));
      return;
    }
    const std::vector<std::int64_t> shape = stored_shape(parameter);
    if (stored->shape != shape)
      reshaped_.push_back(
          fmt::format("{} (the configuration says {}, the file has {}{})", quote(parameter.name), describe_shape(shape),
                      describe_shape(std::span(stored->shape).first(std::min<std::size_t>(stored->shape.size(), 8))),
                      likely_keys(shape, stored->shape, configuration)));
  }

  static void append(std::string& text, const std::vector<std::string>& items, std::string_view what) {
    if (items.empty()) return;
    text += fmt::format("{}{} {} {}: {}", text.empty() ? "" : "; ", items.size(),
                        items.size() == 1 ? "tensor" : "tensors", what, first_few(items));
  }

  const SafetensorsFile* file_;
  std::vector<std::string> missing_;
  std::vector<std::string> surplus_;
  std::vector<std::string> reshaped_;
};

void require_floats(const SafetensorsFile& file, const LoadOptions& options) {
  core::require(is_float(options.dtype), ErrorCode::kInvalidArgument, "parameters cannot be loaded as {}",
                tensor::name_of(options.dtype));
  for (const StoredTensor& stored : file.tensors())
    core::require(stored.dtype && is_float(*stored.dtype), ErrorCode::kUnsupported,
                  "{}: byte {}: the tensor {} is of type {}; weights must be F32, F16, BF16 or F64", file.name(),
                  stored.offset, quote(stored.name), stored.type);
}

tensor::Tensor view_of(const SafetensorsFile& file, const StoredTensor& stored, const nn::Parameter& parameter,
                       tensor::Device device) {
  // Tensor has no read-only form; the store's contract says that bound memory is not written.
  auto* data = const_cast<std::byte*>(file.read(stored).data());
  return {data, parameter.rows, parameter.cols, parameter.cols, *stored.dtype, device};
}

bool aligned(const std::byte* data, tensor::DType dtype) {
  return reinterpret_cast<std::uintptr_t>(data) % tensor::size_of(dtype) == 0;
}

bool can_be_mapped(const SafetensorsFile& file, const LoadOptions& options) {
  const auto usable = [&](const StoredTensor& stored) {
    return stored.dtype == options.dtype && aligned(file.read(stored).data(), options.dtype);
  };
  return options.memory == WeightMemory::kMapped && options.device_memory->reads_host_memory() &&
         std::all_of(file.tensors().begin(), file.tensors().end(), usable);
}

void map_values(const SafetensorsFile& file, nn::ParameterStore& store, const LoadOptions& options) {
  std::vector<tensor::Tensor> values;
  for (const nn::Parameter& parameter : store.all())
    values.push_back(view_of(file, *file.find(parameter.name), parameter, options.device));
  // Packed weights would otherwise stay in memory twice.
  store.bind(values, file.owner(), [](const tensor::Tensor& value) {
    release_pages(value.data, static_cast<std::size_t>(value.size()) * tensor::size_of(value.dtype));
  });
}

bool allocated_as(const nn::ParameterStore& store, const LoadOptions& options) {
  const tensor::Tensor flat = store.flat_values();
  return !flat.empty() && flat.dtype == options.dtype && flat.device == options.device;
}

void copy_values(const SafetensorsFile& file, nn::ParameterStore& store, const LoadOptions& options) {
  if (!allocated_as(store, options)) store.allocate(*options.device_memory, options.dtype, options.device);
  for (const nn::Parameter& parameter : store.all()) {
    const auto view = tensor::HostView::to_be_written(store.memory(), parameter.value);
    file.read(*file.find(parameter.name), view.tensor());
    view.store();
  }
  store.values_changed();
}

}  // namespace

std::vector<std::int64_t> stored_shape(const nn::Parameter& parameter) {
  if (parameter.rank == 1) return {parameter.cols};
  return {parameter.rows, parameter.cols};
}

void save_parameters(const std::filesystem::path& path, const nn::ParameterStore& store, tensor::DType dtype,
                     const Metadata& metadata) {
  core::require(is_float(dtype), ErrorCode::kInvalidArgument, "{}: parameters cannot be saved as {}", path.string(),
                tensor::name_of(dtype));
  std::vector<TensorSpec> specs;
  for (const nn::Parameter& parameter : store.all()) {
    core::require(!parameter.value.empty(), ErrorCode::kInvalidArgument, "{}: the parameter {} has no values to save",
                  path.string(), quote(parameter.name));
    specs.push_back({parameter.name, dtype, stored_shape(parameter)});
  }
  SafetensorsWriter writer(path, std::move(specs), metadata);
  for (const nn::Parameter& parameter : store.all())
    writer.write(tensor::HostView::of(store.memory(), parameter.value).tensor());
  writer.finish();
}

void load_parameters(const std::filesystem::path& path, nn::ParameterStore& store, const LoadOptions& options,
                     const core::Json* configuration) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  Comparison(file, store, configuration).require_equal();
  require_floats(file, options);
  if (can_be_mapped(file, options))
    map_values(file, store, options);
  else
    copy_values(file, store, options);
}

}  // namespace dragoman::formats
