#include "weights/foreign_tensors.h"

#include "torch/torch_file.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;

std::vector<std::int64_t> without_ones(std::vector<std::int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

tensor::Tensor row_of(std::span<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {values.data(), 1, count, count, tensor::DType::kF32, tensor::Device::kCpu};
}

}  // namespace

void ForeignTensors::charge(const std::string& file, std::uint64_t stored, std::uint64_t unfolded) {
  stored_ += stored;
  unfolded_ += unfolded;
  require_proportion(file, stored_, unfolded_);
}

void ForeignTensors::add(std::string name, ForeignTensor tensor) {
  if (tensors_.contains(name))
    core::fail(ErrorCode::kBadInput, "{}: the tensor {} is there twice", tensor.file, core::quote(name));
  tensors_.emplace(std::move(name), Entry{std::move(tensor)});
}

const ForeignTensor& ForeignTensors::get(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    core::fail(ErrorCode::kBadInput,
               "{}: there is no tensor {}, which a model of this configuration has; the weights are another model's, "
               "or a file is missing",
               where_, core::quote(name));
  return found->second.tensor;
}

std::vector<std::string> ForeignTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : tensors_) names.push_back(name);
  return names;
}

const ForeignWeights::Shape* ForeignTensors::shape_of(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second.tensor.shape;
}

void ForeignTensors::read(std::string_view name, std::span<float> out) const {
  get(name).read(0, row_of(out));
}

void ForeignTensors::check_shape(std::string_view name, const std::vector<std::int64_t>& shape) const {
  const ForeignTensor& tensor = get(name);
  if (without_ones(tensor.shape) != without_ones(shape))
    core::fail(ErrorCode::kBadInput, "{}: the tensor {} is of the shape {}, the configuration says {}", tensor.file,
               core::quote(name), formats::describe_shape(tensor.shape), formats::describe_shape(shape));
}

void ForeignTensors::read(std::string_view name, const std::vector<std::int64_t>& shape, const tensor::Tensor& out) {
  check_shape(name, shape);
  get(name).read(0, out);
  leave(name);
}

bool ForeignTensors::equal(std::string_view one, std::string_view other) const {
  const Shape* shape = shape_of(one);
  const Shape* other_shape = shape_of(other);
  if (shape == nullptr || other_shape == nullptr || *shape != *other_shape) return false;
  constexpr std::int64_t kPiece = 1 << 16;
  std::vector<float> values(kPiece);
  std::vector<float> others(kPiece);
  const std::int64_t count = count_of(*shape);
  for (std::int64_t first = 0; first < count; first += kPiece) {
    const auto size = static_cast<std::size_t>(std::min(kPiece, count - first));
    values.resize(size);
    others.resize(size);
    get(one).read(first, row_of(values));
    get(other).read(first, row_of(others));
    if (std::memcmp(values.data(), others.data(), size * sizeof(float)) != 0) return false;
  }
  return true;
}

void ForeignTensors::leave(std::string_view name) {
  if (const auto found = tensors_.find(name); found != tensors_.end()) found->second.used = true;
}

void ForeignTensors::finish() const {
  const auto left = [](const auto& item) { return !item.second.used; };
  const auto first = std::ranges::find_if(tensors_, left);
  if (first == tensors_.end()) return;
  core::fail(ErrorCode::kBadInput,
             "{}: {} tensors are of nothing that the configuration speaks of, {} is the first; the configuration is "
             "another model's",
             where_, std::ranges::count_if(tensors_, left), core::quote(first->first));
}

void add_safetensors(ForeignTensors& tensors, const std::filesystem::path& file) {
  const auto opened = formats::SafetensorsFile::open(file);
  for (const formats::StoredTensor& stored : opened.tensors())
    tensors.add(stored.name,
                {.file = file.string(), .shape = stored.shape, .read = [opened, &stored](auto first, const auto& out) {
                   opened.read(stored, first, out);
                 }});
}

void add_torch(ForeignTensors& tensors, const std::filesystem::path& file, std::string_view below) {
  add_torch(tensors, TorchFile::open(file), below);
}

void add_torch(ForeignTensors& tensors, const TorchFile& opened, std::string_view below) {
  const std::string& file = opened.name();
  const PickleValue* root = &opened.root();
  if (!below.empty()) root = root->at(below);
  const auto* state = root == nullptr ? nullptr : root->as<PickledDict>();
  core::require(state != nullptr, ErrorCode::kBadInput, "{}: there is no state dict in it, names with their tensors",
                file);
  tensors.charge(file, opened.size(), 0);
  for (const auto& [key, value] : state->items) {
    const auto* name = key->as<std::string>();
    const auto* held = value->as<std::shared_ptr<const PickledTensor>>();
    if (name == nullptr || held == nullptr)
      core::fail(ErrorCode::kBadInput, "{}: the state dict has {}, which is no tensor", file,
                 name == nullptr ? "a key that is no text" : core::quote(*name));
    opened.check(**held, *name);
    // No tensor has more elements than the file has bytes (checked), but any number of tensors may share a storage.
    tensors.charge(file, 0, static_cast<std::uint64_t>(count_of((*held)->shape)) * sizeof(float));
    tensors.add(*name, {.file = file,
                        .shape = (*held)->shape,
                        .read = [opened, tensor = *held, name = *name](auto first, const auto& out) {
                          opened.read(*tensor, first, out, name);
                        }});
  }
}

}  // namespace dragoman::imports
