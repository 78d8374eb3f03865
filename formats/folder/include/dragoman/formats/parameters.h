#pragma once

#include <filesystem>
#include <functional>

#include <dragoman/core/json_fwd.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/tensor/arena.h>

namespace dragoman::formats {

enum class WeightMemory {
  /// The store's own memory, which may be trained. A store that is allocated already, in the wanted type and on the
  /// wanted device, is filled in place, so that gradients and optimiser states stay attached.
  kOwned,
  /// The file's pages, read-only and shared by all processes that map it, where the file holds the wanted type and the
  /// device computes in host memory; else as kOwned. For translation.
  kMapped,
};

struct LoadOptions {
  tensor::DeviceMemory* device_memory = &tensor::host_memory();
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Device device = tensor::Device::kCpu;
  WeightMemory memory = WeightMemory::kOwned;
  /// Of mapped files: weights and tables stay in the type that the file has, for backends that take those
  /// (Backend::takes_stored_types()).
  bool stored_types = false;
};

/// The tensor that holds the scales of the I8 matrix `name`, one F32 for each row.
std::string scales_name(std::string_view name);

/// Shape of a parameter as files store it: [cols] for rank 1, else [rows, cols].
std::vector<std::int64_t> stored_shape(const nn::Parameter& parameter);

/// Writes all parameters in the order of the store, as `dtype` (a float type), to a safetensors file.
void save_parameters(const std::filesystem::path& path, const nn::ParameterStore& store,
                     tensor::DType dtype = tensor::DType::kF32, const Metadata& metadata = {});

/// Writes the values of a parameter to a contiguous F32 tensor of its shape, on the host.
using ParameterSource = std::function<void(const nn::Parameter& parameter, const tensor::Tensor& out)>;

/// The same of a store that has no values: `source` is asked for each parameter in turn, as F32, so that a model of any
/// size needs no more memory of a process's own than a small one: what a large parameter needs is a file beside `path`
/// for so long. Error{kBadInput} naming `where` for values that are not finite.
void save_streamed_parameters(const std::filesystem::path& path, const nn::ParameterStore& store,
                              const ParameterSource& source, const std::string& where, const Metadata& metadata = {});

/// The same with weights and tables rounded to `dtype`, BF16 or I8 with scales (tensor/int8.h), and the rest as F32.
void save_rounded_parameters(const std::filesystem::path& path, const nn::ParameterStore& store, tensor::DType dtype,
                             const Metadata& metadata = {});

/// Throws unless load_parameters() could give a store of these parameters the values of the file: see there.
void check_parameters(const SafetensorsFile& file, const nn::ParameterStore& store,
                      const core::Json* configuration = nullptr);

/// Writes the values of one parameter of a file that has been checked to `out`: contiguous, of floats, on the host.
void read_parameter(const SafetensorsFile& file, const nn::Parameter& parameter, const tensor::Tensor& out);

/// Gives every parameter of the store the values of the file. Names and shapes must agree exactly: otherwise one
/// Error{kBadInput} names the missing, the surplus and the differently shaped tensors (the first few of each), and the
/// keys of `configuration` (the model's config.json, if given) that say the other size. The store is unchanged then.
/// A matrix of the file may be of I8 with scales, which are finite and not negative. Error{kUnsupported} for weights of
/// another type that is not a float.
void load_parameters(const std::filesystem::path& path, nn::ParameterStore& store, const LoadOptions& options = {},
                     const core::Json* configuration = nullptr);

}  // namespace dragoman::formats
