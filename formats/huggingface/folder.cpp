#include "huggingface/folder.h"

#include "tokens/plain_file.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/lfs_pointer.h>
#include <dragoman/core/quote.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;
using std::filesystem::path;

constexpr std::uint64_t kLongestConfig = std::uint64_t{1} << 20;
constexpr std::uint64_t kLongestJson = std::uint64_t{64} << 20;

Json read_object(const path& file, std::uint64_t longest) {
  const std::string text = core::read_regular_file(file, longest);
  core::require_no_lfs_pointer(text, file.string());
  core::require(!text.empty(), ErrorCode::kBadInput, "{}: is empty; get it again", file.string());
  Json json = core::parse_json(text, file.string(), core::EqualKeys::kLastCounts);
  core::require(json.is_object(), ErrorCode::kBadInput, "{}: must hold keys and values", file.string());
  return json;
}

/// Returns the files of an index, each once.
std::set<std::string> shards_of(const path& index) {
  const Json json = read_object(index, kLongestJson);
  const auto map = json.find("weight_map");
  core::require(map != json.end() && map->is_object(), ErrorCode::kBadInput, "{}: weight_map: is missing",
                index.string());
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    // Only names of files in the folder of the index are accepted, which cannot lead out of it.
    if (!file.is_string() || file.get_ref<const std::string&>().find('/') != std::string::npos ||
        file.get_ref<const std::string&>().starts_with('.'))
      core::fail(ErrorCode::kBadInput, "{}: weight_map: {}: must be the name of a file in the folder", index.string(),
                 core::quote(tensor));
    files.insert(file.get<std::string>());
  }
  return files;
}

}  // namespace

HuggingFaceFolder::HuggingFaceFolder(std::filesystem::path folder)
    : path(std::move(folder)), config(read_object(path / "config.json", kLongestConfig)), generation(config) {
  if (has("generation_config.json")) generation = object_of("generation_config.json");
  if (has("tokenizer_config.json")) tokenizer = object_of("tokenizer_config.json");
}

bool HuggingFaceFolder::has(const char* name) const {
  return is_file_if_there(path / name);
}

Json HuggingFaceFolder::object_of(const char* name) const {
  return read_object(path / name, kLongestJson);
}

ForeignTensors open_weights(const HuggingFaceFolder& folder) {
  ForeignTensors tensors(folder.path.string());
  if (folder.has("model.safetensors")) {
    add_safetensors(tensors, folder.file("model.safetensors"));
  } else if (folder.has("model.safetensors.index.json")) {
    for (const std::string& file : shards_of(folder.file("model.safetensors.index.json")))
      add_safetensors(tensors, folder.path / file);
  } else if (folder.has("pytorch_model.bin")) {
    add_torch(tensors, folder.file("pytorch_model.bin"));
  } else if (folder.has("pytorch_model.bin.index.json")) {
    for (const std::string& file : shards_of(folder.file("pytorch_model.bin.index.json")))
      add_torch(tensors, folder.path / file);
  } else {
    core::fail(ErrorCode::kBadInput,
               "{}: holds no weights: neither model.safetensors nor pytorch_model.bin, nor an index of several such "
               "files; weights of TensorFlow and Flax are to be saved by transformers in Python",
               folder.path.string());
  }
  return tensors;
}

std::string why_no_huggingface_folder(const path& folder, const std::vector<const char*>& types) {
  if (!is_file(folder / "config.json")) return {};
  const std::string name = (folder / "config.json").string();
  try {
    const Json config = read_object(folder / "config.json", kLongestConfig);
    if (config.contains("format_version")) return {};
    const auto type = config.find("model_type");
    if (type == config.end() || !type->is_string()) return fmt::format("{}: says no model_type", name);
    return fmt::format("{}: model_type: is {}; models of the types {} can be imported", name,
                       core::quote(type->get<std::string>()), fmt::join(types, ", "));
  } catch (const core::Error& error) {
    return error.what();
  }
}

bool is_huggingface_folder(const path& folder, const char* const* types, std::size_t count) {
  if (!is_file(folder / "config.json")) return false;
  try {
    const Json config = read_object(folder / "config.json", kLongestConfig);
    const auto type = config.find("model_type");
    // The config.json of Dragoman's own model folders has a format_version.
    return type != config.end() && type->is_string() && !config.contains("format_version") &&
           std::find(types, types + count, type->get<std::string>()) != types + count;
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace dragoman::imports
