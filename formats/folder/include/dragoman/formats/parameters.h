#pragma once

#include <filesystem>
#include <functional>

#include <dragoman/core/json_fwd.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/tensor/arena.h>

namespace dragoman::formats {

/// The memory into which load_parameters() puts the values.
enum class WeightMemory {
  /// Memory that the store owns, and that may be trained. A store that has memory already, of the requested type, is
  /// filled in place, so that gradients and optimiser states stay attached.
  kOwned,
  /// The file's pages, read-only and shared by all processes that map it. Used for translation, if the file has the
  /// requested type and the device computes in host memory; otherwise as kOwned.
  kMapped,
};

/// The memory, type and device of loaded values.
struct LoadOptions {
  tensor::DeviceMemory* device_memory = &tensor::host_memory();
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Device device = tensor::Device::kCpu;
  WeightMemory memory = WeightMemory::kOwned;
  /// For mapped files: weights and tables stay in the type of the file, for backends that accept it
  /// (Backend::takes_stored_types()).
  bool stored_types = false;
};

/// Returns the name of the tensor with the scales of the I8 matrix `name`, one F32 for each row.
std::string scales_name(std::string_view name);

/// Returns the shape of a parameter in files: [cols] for rank 1, otherwise [rows, cols].
std::vector<std::int64_t> stored_shape(const nn::Parameter& parameter);

/// Writes all parameters to a safetensors file, in the order of the store, as `dtype` (a float type).
void save_parameters(const std::filesystem::path& path, const nn::ParameterStore& store,
                     tensor::DType dtype = tensor::DType::kF32, const Metadata& metadata = {});

/// Writes the values of a parameter to a contiguous F32 tensor of its shape, on the host.
using ParameterSource = std::function<void(const nn::Parameter& parameter, const tensor::Tensor& out)>;

/// Writes the parameters of a store that has no values. `source` is called for each parameter in turn, as F32. A model
/// of any size therefore needs no more private memory than a small one: a large parameter is temporarily stored in a
/// file next to `path`. Throws Error{kBadInput} that names `where` for values that are not finite.
void save_streamed_parameters(const std::filesystem::path& path, const nn::ParameterStore& store,
                              const ParameterSource& source, const std::string& where, const Metadata& metadata = {});

/// Writes all parameters with weights and tables rounded to `dtype`, BF16 or I8 with scales (tensor/int8.h), and the
/// rest as F32.
void save_rounded_parameters(const std::filesystem::path& path, const nn::ParameterStore& store, tensor::DType dtype,
                             const Metadata& metadata = {});

/// Throws the error that load_parameters() would throw for a store of these parameters.
void check_parameters(const SafetensorsFile& file, const nn::ParameterStore& store,
                      const core::Json* configuration = nullptr);

/// Writes the values of one parameter to `out`, which must be a contiguous float tensor on the host. The file must have
/// been checked.
void read_parameter(const SafetensorsFile& file, const nn::Parameter& parameter, const tensor::Tensor& out);

/// Sets every parameter of the store to its values in the file.
///
/// Names and shapes must be equal. Otherwise one Error{kBadInput} names the missing, the surplus and the differently
/// shaped tensors (the first few of each), and the keys of `configuration` (the model's config.json, if given) that
/// specify another size. The store is then unchanged. A matrix of the file may be I8 with scales, which must be finite
/// and not negative. Throws Error{kUnsupported} for weights of any other type that is not a float.
///
///     void copy(const nn::ParameterStore& from, nn::ParameterStore& to) {
///       save_parameters("copy.safetensors", from);
///       load_parameters("copy.safetensors", to);
///     }
///
/// A mapped file stays open as long as the store. Functions that write a store must not run concurrently with others on
/// the same store. Throws Error{kInvalidArgument} for a store that has memory on another device than `options` name:
/// models would compute with values of the host there.
void load_parameters(const std::filesystem::path& path, nn::ParameterStore& store, const LoadOptions& options = {},
                     const core::Json* configuration = nullptr);

/// Sets every parameter of a store that has memory to its values in the file, in that memory and in its type. Otherwise
/// as load_parameters().
void refill_parameters(const std::filesystem::path& path, nn::ParameterStore& store,
                       const core::Json* configuration = nullptr);

}  // namespace dragoman::formats
