#include "dragoman/formats/parameters.h"

#include "convert.h"
#include "dragoman/formats/mapped_file.h"
#include "scratch_file.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/host_view.h>
#include <dragoman/tensor/int8.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::Json;
using core::quote;

constexpr std::size_t kShown = 4;
constexpr std::string_view kScalesSuffix = "_scale";

/// Returns "a, b, c, d and 17 more".
std::string first_few(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), kShown); ++i) text += (i == 0 ? "" : ", ") + items[i];
  return items.size() > kShown ? fmt::format("{} and {} more", text, items.size() - kShown) : text;
}

/// Collects every key of the configuration whose value is `number`, as a dotted path. These keys are the likely source
/// of a dimension.
void keys_with_value(const Json& node, const std::string& path, std::int64_t number, std::vector<std::string>& keys) {
  if (node.is_number_integer() && node == number) keys.push_back(path);
  if (!node.is_object()) return;
  for (const auto& [key, value] : node.items())
    keys_with_value(value, path.empty() ? key : fmt::format("{}.{}", path, key), number, keys);
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

/// The name of a matrix's scales must be unique.
void require_no_namesake(const std::string& where, const nn::ParameterStore& store, const nn::Parameter& matrix) {
  core::require(store.find(scales_name(matrix.name)) == nullptr, ErrorCode::kUnsupported,
                "{}: the scales of {} would have the name of the parameter {}; a model with both cannot be int8", where,
                quote(matrix.name), quote(scales_name(matrix.name)));
}

/// Collects all differences between a file and a store, so that one message names them.
class Comparison {
 public:
  Comparison(const SafetensorsFile& file, const nn::ParameterStore& store, const Json* configuration)
      : file_(&file), store_(&store) {
    core::TextViewSet wanted;
    for (const nn::Parameter& parameter : store.all()) {
      wanted.insert(parameter.name);
      compare(parameter, configuration);
    }
    for (const StoredTensor& stored : file.tensors())
      if (!wanted.contains(stored.name) && !is_scales(stored)) surplus_.push_back(quote(stored.name));
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
    if (stored->dtype != tensor::DType::kI8) return;
    require_no_namesake(file_->name(), *store_, parameter);
    if (file_->find(scales_name(parameter.name)) == nullptr) missing_.push_back(quote(scales_name(parameter.name)));
  }

  bool is_scales(const StoredTensor& stored) const {
    if (!stored.name.ends_with(kScalesSuffix)) return false;
    const std::string_view matrix = std::string_view(stored.name).substr(0, stored.name.size() - kScalesSuffix.size());
    const StoredTensor* found = file_->find(matrix);
    return found != nullptr && found->dtype == tensor::DType::kI8;
  }

  static void append(std::string& text, const std::vector<std::string>& items, std::string_view what) {
    if (items.empty()) return;
    text += fmt::format("{}{} {} {}: {}", text.empty() ? "" : "; ", items.size(),
                        items.size() == 1 ? "tensor" : "tensors", what, first_few(items));
  }

  const SafetensorsFile* file_;
  const nn::ParameterStore* store_;
  std::vector<std::string> missing_;
  std::vector<std::string> surplus_;
  std::vector<std::string> reshaped_;
};

/// Returns values on the host as a row.
template <class Number>
tensor::Tensor row_of(std::vector<Number>& numbers, tensor::DType dtype) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return {numbers.data(), 1, count, count, dtype, tensor::Device::kCpu};
}

std::vector<float> read_scales(const SafetensorsFile& file, const StoredTensor& scales) {
  std::vector<float> values(static_cast<std::size_t>(scales.shape.front()));
  file.read(scales, row_of(values, tensor::DType::kF32));
  return values;
}

/// A scale is the largest magnitude divided by a range; for a row of zeros it is 0.
void require_usable(const SafetensorsFile& file, const StoredTensor& scales) {
  const std::vector<float> values = read_scales(file, scales);
  const auto wrong = std::ranges::find_if(values, [](float scale) { return !std::isfinite(scale) || scale < 0; });
  if (wrong != values.end())
    core::fail(ErrorCode::kBadInput,
               "{}: byte {}: the scale of row {} in {} is {}; scales are finite and not negative, so the file is "
               "damaged: copy it again, or make it again with `dragoman quantize`",
               file.name(), scales.offset, wrong - values.begin(), quote(scales.name), *wrong);
}

void require_scales(const SafetensorsFile& file, const StoredTensor& matrix) {
  const StoredTensor* scales = file.find(scales_name(matrix.name));
  core::require(scales != nullptr && matrix.shape.size() == 2, ErrorCode::kBadInput,
                "{}: byte {}: the tensor {} of I8 is no matrix with scales; weights must be F32, F16, BF16, F64, or I8 "
                "with scales",
                file.name(), matrix.offset, quote(matrix.name));
  core::require(scales->dtype == tensor::DType::kF32 && scales->shape == std::vector{matrix.shape.front()},
                ErrorCode::kBadInput,
                "{}: the scales {} of an I8 matrix {} are {} {}; they must be one F32 for each row", file.name(),
                quote(scales->name), describe_shape(matrix.shape), scales->type, describe_shape(scales->shape));
  require_usable(file, *scales);
}

void require_known_types(const SafetensorsFile& file) {
  for (const StoredTensor& stored : file.tensors())
    if (stored.dtype == tensor::DType::kI8)
      require_scales(file, stored);
    else
      core::require(stored.dtype && is_float(*stored.dtype), ErrorCode::kUnsupported,
                    "{}: byte {}: the tensor {} is of type {}; weights must be F32, F16, BF16, F64, or I8 with scales",
                    file.name(), stored.offset, quote(stored.name), stored.type);
}

/// Reads the values of a parameter into `out`, a float tensor on the host.
void read_values(const SafetensorsFile& file, const StoredTensor& stored, const tensor::Tensor& out) {
  if (stored.dtype != tensor::DType::kI8) return file.read(stored, out);
  std::vector<std::int8_t> row(static_cast<std::size_t>(out.cols));
  std::vector<float> scales = read_scales(file, *file.find(scales_name(stored.name)));
  core::StopCheck check("loading weights");
  for (std::int64_t i = 0; i < out.rows; ++i) {
    check(10 * row.size());
    const tensor::Tensor numbers = row_of(row, tensor::DType::kI8);
    file.read(stored, i * out.cols, numbers);
    const tensor::StoredMatrix matrix(numbers, row_of(scales, tensor::DType::kF32).col_range(i, i + 1));
    for (std::int64_t j = 0; j < out.cols; ++j) tensor::set_element(out, i, j, tensor::element(matrix, 0, j));
  }
}

bool aligned(const std::byte* data, tensor::DType dtype) {
  return reinterpret_cast<std::uintptr_t>(data) % tensor::size_of(dtype) == 0;
}

tensor::Tensor view_of(const SafetensorsFile& file, const StoredTensor& stored, std::int64_t rows, std::int64_t cols,
                       tensor::Device device) {
  // Tensor has no read-only form. By the store's contract, bound memory is not written.
  auto* data = const_cast<std::byte*>(file.read(stored).data());
  return {data, rows, cols, cols, *stored.dtype, device};
}

/// Returns a parameter in the mapped file, or an empty result if it must be converted.
tensor::StoredMatrix find_in_place(const SafetensorsFile& file, const nn::Parameter& parameter,
                                   const LoadOptions& options) {
  const StoredTensor& stored = *file.find(parameter.name);
  const bool may_stay = options.stored_types && (parameter.is_weight || parameter.is_table);
  if (*stored.dtype != options.dtype && !may_stay) return {};
  if (!aligned(file.read(stored).data(), *stored.dtype)) return {};
  const tensor::Tensor values = view_of(file, stored, parameter.rows, parameter.cols, options.device);
  if (*stored.dtype != tensor::DType::kI8) return values;
  const StoredTensor& scales = *file.find(scales_name(parameter.name));
  if (!aligned(file.read(scales).data(), tensor::DType::kF32)) return {};
  return {values, view_of(file, scales, 1, parameter.rows, options.device)};
}

bool can_be_mapped(const SafetensorsFile& file, const nn::ParameterStore& store, const LoadOptions& options) {
  if (options.memory != WeightMemory::kMapped || !options.device_memory->reads_host_memory()) return false;
  // Parameters that are neither weights nor tables are small.
  return std::ranges::all_of(store.all(), [&](const nn::Parameter& parameter) {
    return (options.stored_types && !parameter.is_weight && !parameter.is_table) ||
           !find_in_place(file, parameter, options).values.empty();
  });
}

/// Parameters in the file, and converted copies of the others.
struct MappedValues {
  explicit MappedValues(SafetensorsFile values_file) : file(std::move(values_file)) {}

  SafetensorsFile file;
  std::deque<tensor::Buffer> converted;
};

void map_values(const SafetensorsFile& file, nn::ParameterStore& store, const LoadOptions& options) {
  const auto owner = std::make_shared<MappedValues>(file);
  std::vector<tensor::StoredMatrix> values;
  for (const nn::Parameter& parameter : store.all()) {
    core::check_stop("loading weights");
    values.push_back(find_in_place(file, parameter, options));
    if (!values.back().values.empty()) continue;
    const auto bytes = static_cast<std::size_t>(parameter.rows * parameter.cols) * tensor::size_of(options.dtype);
    tensor::Buffer& buffer = owner->converted.emplace_back(*options.device_memory, bytes);
    values.back().values = {buffer.data(),  parameter.rows, parameter.cols,
                            parameter.cols, options.dtype,  options.device};
    read_values(file, *file.find(parameter.name), values.back().values);
  }
  // Otherwise packed weights would be in memory twice.
  store.bind(values, owner, [of = owner.get()](const tensor::Tensor& value) {
    const auto is_value = [&](const tensor::Buffer& buffer) { return buffer.data() == value.data; };
    if (std::ranges::any_of(of->converted, is_value)) return;  // a converted copy cannot be read from the file again
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
    core::check_stop("loading weights");
    const auto view = tensor::HostView::to_be_written(store.memory(), parameter.value);
    read_values(file, *file.find(parameter.name), view.tensor());
    view.store();
  }
  store.values_changed();
}

bool is_rounded(const nn::Parameter& parameter) {
  return parameter.is_weight || parameter.is_table;
}

void require_values(const std::filesystem::path& path, const nn::ParameterStore& store) {
  for (const nn::Parameter& parameter : store.all()) {
    core::require(!parameter.value.empty(), ErrorCode::kInvalidArgument, "{}: the parameter {} has no values to save",
                  path.string(), quote(parameter.name));
    core::require(parameter.scales.empty(), ErrorCode::kInvalidArgument,
                  "{}: the parameter {} holds the numbers of a file; load it into memory of its own to save it",
                  path.string(), quote(parameter.name));
  }
}

/// Finite values must not become infinite in the file.
void require_fits(const std::filesystem::path& path, const nn::Parameter& parameter, const tensor::Tensor& values,
                  tensor::DType dtype) {
  // For F16, whose largest number is 65504. The other types have the exponent range of fp32.
  constexpr double kRoundsToInfinity = 65520;
  if (dtype != tensor::DType::kF16) return;
  for (std::int64_t i = 0; i < values.rows; ++i)
    for (std::int64_t j = 0; j < values.cols; ++j) {
      const double value = tensor::element(values, i, j);
      core::require(!std::isfinite(value) || std::abs(value) < kRoundsToInfinity, ErrorCode::kBadInput,
                    "{}: {} holds {} at [{}, {}], which is too large for F16; write it as F32", path.string(),
                    quote(parameter.name), value, i, j);
    }
}

/// Calls body(numbers, scale) for each row of a float matrix.
template <class Body>
void for_each_quantized_row(const tensor::Tensor& matrix, const Body& body) {
  std::vector<float> row(static_cast<std::size_t>(matrix.cols));
  std::vector<std::int8_t> numbers(row.size());
  core::StopCheck check("rounding weights");
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    check(10 * row.size());
    for (std::int64_t j = 0; j < matrix.cols; ++j)
      row[static_cast<std::size_t>(j)] = static_cast<float>(tensor::element(matrix, i, j));
    const float scale = tensor::quantize_row(row, tensor::kWeightRange, numbers);
    body(std::span(numbers), scale);
  }
}

}  // namespace

std::vector<std::int64_t> stored_shape(const nn::Parameter& parameter) {
  if (parameter.rank == 1) return {parameter.cols};
  return {parameter.rows, parameter.cols};
}

std::string scales_name(std::string_view name) {
  return std::string(name) + std::string(kScalesSuffix);
}

void save_parameters(const std::filesystem::path& path, const nn::ParameterStore& store, tensor::DType dtype,
                     const Metadata& metadata) {
  core::require(is_float(dtype), ErrorCode::kInvalidArgument, "{}: parameters cannot be saved as {}", path.string(),
                tensor::name_of(dtype));
  require_values(path, store);
  std::vector<TensorSpec> specs;
  for (const nn::Parameter& parameter : store.all()) specs.push_back({parameter.name, dtype, stored_shape(parameter)});
  SafetensorsWriter writer(path, std::move(specs), metadata);
  for (const nn::Parameter& parameter : store.all()) {
    const auto view = tensor::HostView::of(store.memory(), parameter.value);
    require_fits(path, parameter, view.tensor(), dtype);
    writer.write(view.tensor());
  }
  writer.finish();
}

void save_streamed_parameters(const std::filesystem::path& path, const nn::ParameterStore& store,
                              const ParameterSource& source, const std::string& where, const Metadata& metadata) {
  std::vector<TensorSpec> specs;
  std::int64_t largest = 0;
  for (const nn::Parameter& parameter : store.all()) {
    specs.push_back({parameter.name, tensor::DType::kF32, stored_shape(parameter)});
    largest = std::max(largest, parameter.rows * parameter.cols);
  }
  SafetensorsWriter writer(path, std::move(specs), metadata);
  const ScratchFile scratch(path.parent_path(), static_cast<std::size_t>(largest) * sizeof(float));
  for (const nn::Parameter& parameter : store.all()) {
    const tensor::Tensor values{scratch.bytes().data(), parameter.rows,      parameter.cols,
                                parameter.cols,         tensor::DType::kF32, tensor::Device::kCpu};
    // Values that the source does not set are rejected together with other NaN.
    core::check_stop("reading weights");
    std::fill_n(values.as<float>(), values.size(), std::numeric_limits<float>::quiet_NaN());
    source(parameter, values);
    const float* const begin = values.as<float>();
    const float* const bad = std::find_if_not(begin, begin + values.size(), [](float x) { return std::isfinite(x); });
    if (bad != begin + values.size())
      core::fail(core::ErrorCode::kBadInput, "{}: the value {} of {} is {}; a model's weights are finite numbers",
                 where, bad - begin, core::quote(parameter.name), *bad);
    writer.write(values);
  }
  writer.finish();
}

void save_rounded_parameters(const std::filesystem::path& path, const nn::ParameterStore& store, tensor::DType dtype,
                             const Metadata& metadata) {
  const bool int8 = dtype == tensor::DType::kI8;
  core::require(int8 || dtype == tensor::DType::kBF16, ErrorCode::kInvalidArgument,
                "{}: parameters cannot be rounded to {}", path.string(), tensor::name_of(dtype));
  require_values(path, store);
  // Wider types come first.
  std::vector<TensorSpec> specs;
  for (const nn::Parameter& parameter : store.all()) {
    if (!is_rounded(parameter)) {
      specs.push_back({parameter.name, tensor::DType::kF32, stored_shape(parameter)});
    } else if (int8) {
      require_no_namesake(path.string(), store, parameter);
      specs.push_back({scales_name(parameter.name), tensor::DType::kF32, {parameter.rows}});
    }
  }
  for (const nn::Parameter& parameter : store.all())
    if (is_rounded(parameter)) specs.push_back({parameter.name, dtype, stored_shape(parameter)});
  SafetensorsWriter writer(path, std::move(specs), metadata);
  const auto view_of_values = [&](const nn::Parameter& parameter) {
    return tensor::HostView::of(store.memory(), parameter.value);
  };
  for (const nn::Parameter& parameter : store.all()) {
    if (!is_rounded(parameter))
      writer.write(view_of_values(parameter).tensor());
    else if (int8)
      for_each_quantized_row(view_of_values(parameter).tensor(), [&](std::span<std::int8_t>, float scale) {
        writer.write({&scale, 1, 1, 1, tensor::DType::kF32, tensor::Device::kCpu});
      });
  }
  for (const nn::Parameter& parameter : store.all()) {
    if (!is_rounded(parameter)) continue;
    if (!int8)
      writer.write(view_of_values(parameter).tensor());
    else
      for_each_quantized_row(view_of_values(parameter).tensor(), [&](std::span<std::int8_t> numbers, float) {
        const auto count = static_cast<std::int64_t>(numbers.size());
        writer.write({numbers.data(), 1, count, count, tensor::DType::kI8, tensor::Device::kCpu});
      });
  }
  writer.finish();
}

void check_parameters(const SafetensorsFile& file, const nn::ParameterStore& store, const core::Json* configuration) {
  Comparison(file, store, configuration).require_equal();
  require_known_types(file);
}

void read_parameter(const SafetensorsFile& file, const nn::Parameter& parameter, const tensor::Tensor& out) {
  const StoredTensor* const stored = file.find(parameter.name);
  core::require(stored != nullptr, ErrorCode::kBadInput, "{}: has no tensor {}", file.name(), quote(parameter.name));
  read_values(file, *stored, out);
}

void load_parameters(const std::filesystem::path& path, nn::ParameterStore& store, const LoadOptions& options,
                     const core::Json* configuration) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  core::require(is_float(options.dtype), ErrorCode::kInvalidArgument, "parameters cannot be loaded as {}",
                tensor::name_of(options.dtype));
  core::require(store.flat_values().empty() || store.flat_values().device == options.device,
                ErrorCode::kInvalidArgument,
                "{}: the values are to be loaded into memory of the host, but the model's memory is a device's; use "
                "refill_parameters()",
                path.string());
  check_parameters(file, store, configuration);
  if (can_be_mapped(file, store, options))
    map_values(file, store, options);
  else
    copy_values(file, store, options);
}

void refill_parameters(const std::filesystem::path& path, nn::ParameterStore& store, const core::Json* configuration) {
  const tensor::Tensor flat = store.flat_values();
  core::require(!flat.empty(), ErrorCode::kInvalidArgument, "{}: the model has no memory to be filled", path.string());
  load_parameters(path, store, {.device_memory = &store.memory(), .dtype = flat.dtype, .device = flat.device},
                  configuration);
}

}  // namespace dragoman::formats
