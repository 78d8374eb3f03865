#include "dragoman/formats/average.h"

#include "convert.h"
#include "dragoman/formats/checksums.h"
#include "dragoman/formats/finite_weights.h"
#include "dragoman/formats/model_folder.h"
#include "folder_replacement.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::quote;
using std::filesystem::path;

void require_floats(const SafetensorsFile& file) {
  for (const StoredTensor& stored : file.tensors())
    core::require(stored.dtype && is_float(*stored.dtype), ErrorCode::kUnsupported,
                  "{}: the tensor {} is of type {}, which has no mean; average before quantising", file.name(),
                  quote(stored.name), stored.type);
}

void require_same_tensors(const SafetensorsFile& first, const SafetensorsFile& other) {
  for (const StoredTensor& expected : first.tensors()) {
    const StoredTensor* found = other.find(expected.name);
    core::require(found != nullptr, ErrorCode::kBadInput, "{}: lacks the tensor {}, which {} has", other.name(),
                  quote(expected.name), first.name());
    core::require(found->shape == expected.shape, ErrorCode::kBadInput,
                  "{}: the tensor {} has the shape {}, but {} in {}", other.name(), quote(expected.name),
                  describe_shape(found->shape), describe_shape(expected.shape), first.name());
  }
  for (const StoredTensor& extra : other.tensors())
    core::require(first.find(extra.name) != nullptr, ErrorCode::kBadInput, "{}: has the tensor {}, which {} lacks",
                  other.name(), quote(extra.name), first.name());
}

std::vector<SafetensorsFile> open_all(const std::vector<path>& inputs) {
  core::require(!inputs.empty(), ErrorCode::kInvalidArgument, "there is nothing to average: name at least one model");
  std::vector<SafetensorsFile> files;
  for (const path& input : inputs) {
    files.push_back(SafetensorsFile::open(input));
    require_floats(files.back());
    require_same_tensors(files.front(), files.back());
  }
  return files;
}

/// Returns the tensors of a file in an order in which they can be written: the file's order, but wider types first.
std::vector<StoredTensor> writable_order(const SafetensorsFile& file) {
  std::vector<StoredTensor> tensors = file.tensors();
  std::stable_sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return tensor::size_of(*a.dtype) > tensor::size_of(*b.dtype);
  });
  return tensors;
}

tensor::Tensor view(std::vector<double>& values, std::int64_t count) {
  return {values.data(), 1, count, count, tensor::DType::kF64, tensor::Device::kCpu};
}

/// Writes the mean of one tensor in blocks, so that memory does not grow with the model. All values of the files must
/// be finite.
void write_mean(const std::vector<SafetensorsFile>& files, const StoredTensor& expected, SafetensorsWriter& writer) {
  constexpr std::int64_t kPiece = 1 << 16;
  std::vector<double> sums(kPiece);
  std::vector<double> values(kPiece);
  for (std::int64_t begin = 0; begin < expected.size; begin += kPiece) {
    const std::int64_t count = std::min(kPiece, expected.size - begin);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (const SafetensorsFile& file : files) {
      file.read(*file.find(expected.name), begin, view(values, count));
      for (std::int64_t i = 0; i < count; ++i) sums[static_cast<std::size_t>(i)] += values[static_cast<std::size_t>(i)];
    }
    for (double& sum : sums) sum /= static_cast<double>(files.size());
    core::require(std::ranges::all_of(sums, [](double mean) { return std::isfinite(mean); }), ErrorCode::kBadInput,
                  "{}: the mean of {} is no finite number: values of the models are too large", files.front().name(),
                  quote(expected.name));
    writer.write(view(sums, count));
  }
}

void require_same_file(const path& first, const path& other, std::string_view name) {
  const bool here = std::filesystem::exists(first / name);
  core::require(here == std::filesystem::exists(other / name) &&
                    (!here || sha256_of_file(first / name) == sha256_of_file(other / name)),
                ErrorCode::kBadInput,
                "{}: {} is not the same as in {}; only models of one architecture and vocabulary can be averaged",
                other.string(), name, first.string());
}

void require_same_configuration(const OpenedModel& first, const OpenedModel& other) {
  // Compared as a tree, since the order of keys and the layout are irrelevant.
  ModelConfig expected = first.config();
  ModelConfig found = other.config();
  // The search defaults may differ. The mean has the ones of the first model.
  expected.decoding = found.decoding = core::Json::object();
  for (ModelConfig* config : {&expected, &found})
    config->compute = config->compute.value_or(tensor::ComputeChoice::kF32);
  core::require(to_json(found) == to_json(expected), ErrorCode::kBadInput,
                "{}: config.json says something else than in {}; only models of one architecture can be averaged",
                other.path().string(), first.path().string());
  for (const char* name : ModelFiles::kTokenizers) require_same_file(first.path(), other.path(), name);
}

std::string averaged_card(const OpenedModel& first, const std::vector<path>& folders) {
  std::string card = first.card();
  if (!card.empty()) card += "\n";
  card += fmt::format(
      "## Averaged weights\n\nThe weights are the mean of {} models; what stands above was said of the first of "
      "them:\n\n",
      folders.size());
  for (const path& folder : folders)
    card += fmt::format("- {}\n", std::filesystem::absolute(folder).lexically_normal().filename().string());
  return card;
}

}  // namespace

void average_parameters(const std::vector<path>& inputs, const path& output) {
  for (const path& input : inputs) core::require_no_temporary_name(input, output);
  const std::vector<SafetensorsFile> files = open_all(inputs);
  for (const SafetensorsFile& file : files) require_finite_weights(file, file.name());
  const std::vector<StoredTensor> tensors = writable_order(files.front());
  std::vector<TensorSpec> specs;
  for (const StoredTensor& stored : tensors) specs.push_back({stored.name, *stored.dtype, stored.shape});
  SafetensorsWriter writer(output, std::move(specs), files.front().metadata());
  for (const StoredTensor& stored : tensors) write_mean(files, stored, writer);
  writer.finish();
}

void average_models(const std::vector<path>& folders, const path& output) {
  core::require(!folders.empty(), ErrorCode::kInvalidArgument, "there is nothing to average: name at least one model");
  const ModelFolder first = ModelFolder::open(folders.front());
  std::vector<path> weights;
  for (const path& folder : folders) {
    core::require_no_temporary_name(folder, output);
    if (&folder != &folders.front()) require_same_configuration(first, ModelFolder::open(folder));
    verify_checksums_if_there(folder);
    weights.push_back(folder / ModelFiles::kWeights);
  }
  const std::string card = averaged_card(first, folders);
  FolderReplacement replacement(output);
  for (const char* name : ModelFiles::kTranslating)
    if (std::string_view(name) != ModelFiles::kWeights && std::filesystem::exists(folders.front() / name))
      replacement.add_copy(folders.front() / name);
  core::write_file(replacement.folder() / ModelFiles::kCard, card);
  average_parameters(weights, replacement.folder() / ModelFiles::kWeights);
  replacement.commit(output.string());
}

}  // namespace dragoman::formats
