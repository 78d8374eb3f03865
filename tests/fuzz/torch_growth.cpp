#include "torch_growth.h"

#include "growth.h"
#include "stored_zip.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace dragoman::fuzz {
namespace {

std::string pickled(std::string_view text) {
  return "X" + little_endian(text.size(), 4) + std::string(text);
}

/// Recalls an object that was remembered under a number, and remembers the last one.
std::string recall(std::uint64_t number) {
  return "j" + little_endian(number, 4);
}

std::string remember(std::uint64_t number) {
  return "r" + little_endian(number, 4);
}

constexpr std::string_view kProtocol("\x80\2", 2);

std::string torch_file(const std::string& pickle, std::string_view storage = {}) {
  return zip_of({{"a/data.pkl", std::string(kProtocol) + pickle + "."}, {"a/data/0", std::string(storage)}});
}

/// A state dict whose tensors are all of one storage, which is half of the file.
std::string state_of_one_storage(std::size_t size) {
  const std::string floats = "J" + little_endian(size / 2 / sizeof(float), 4);
  const std::string rebuild = "ctorch._utils\n_rebuild_tensor_v2\n" + remember(0) + "0";
  const std::string storage = "(" + pickled("storage") + "ctorch\nFloatStorage\n" + pickled("0") + pickled("cpu") +
                              floats + "tQ" + remember(1) + "0";
  const std::string tensor = recall(0) + "(" + recall(1) + "J" + little_endian(0, 4) + floats + "\x85K\1\x85\x89}tR";
  return rebuild + storage + "}(" +
         parts(size / 2, [&](std::size_t i) { return pickled(fmt::format("weight.{}", i)) + tensor; }) + "u";
}

/// A list of references to a text that is half of the file.
std::string list_of_one_text(std::size_t size) {
  return pickled(std::string(size / 2, 'x')) + remember(0) + "0](" +
         parts(size / 2, [](std::size_t) { return recall(0); }) + "e";
}

/// A checkpoint of fairseq with this state dict and these settings, and the dictionaries of the seed.
std::string fairseq_checkpoint(std::string_view seed, const std::string& settings, const std::string& state,
                               std::string_view storage = {}) {
  return torch_file("}(" + pickled("args") + settings + pickled("model") + state + "u", storage) +
         std::string(split_files(seed).rest);
}

}  // namespace

std::string tensors_of_one_storage(std::string_view /*seed*/, std::size_t size) {
  return torch_file(state_of_one_storage(size), std::string(size / 2 / sizeof(float) * sizeof(float), '\0'));
}

std::string references_to_one_text(std::string_view /*seed*/, std::size_t size) {
  return torch_file("}" + pickled("names") + list_of_one_text(size) + "s");
}

/// Pairs of the pair before: the n-th stands for 2^n values.
std::string pairs_of_pairs(std::string_view /*seed*/, std::size_t size) {
  // Each takes the place of the one before it on the stack.
  const std::string pairs =
      parts(size, [](std::size_t i) { return "0" + recall(i) + recall(i) + "\x86" + remember(i + 1); });
  return torch_file("}" + pickled("pairs") + "K\1" + remember(0) + pairs + "s");
}

std::string remembered_values(std::size_t count, std::uint64_t factor) {
  std::string values;
  for (std::size_t i = 0; i < count; ++i) values += "K\1" + remember(i * factor) + "0";
  return torch_file(values + "}");
}

std::string nested_lists(std::string_view /*seed*/, std::size_t size) {
  return torch_file("}" + pickled("lists") + std::string(size / 2, ']') + std::string(size / 2 - 1, 'a') + "s");
}

std::string many_keys(std::string_view /*seed*/, std::size_t size) {
  return torch_file("}(" + parts(size, [](std::size_t i) { return pickled(std::to_string(i)) + "K\1"; }) + "u");
}

std::string many_storages(std::string_view /*seed*/, std::size_t size) {
  std::vector<ZipFile> files{{"a/data.pkl", std::string(kProtocol) + "}."}};
  for (std::size_t i = 0; i < std::min<std::size_t>(size / 100, 60000); ++i)
    files.push_back({fmt::format("a/data/{}", i), ""});
  return zip_of(files);
}

std::string settings_of_one_text(std::string_view seed, std::size_t size) {
  return fairseq_checkpoint(seed, "}" + pickled("names") + list_of_one_text(size) + "s", "}");
}

std::string weights_of_one_storage(std::string_view seed, std::size_t size) {
  size *= 8;  // less is within every budget, shared or not
  return fairseq_checkpoint(seed, "}" + pickled("arch") + pickled("transformer") + "s", state_of_one_storage(size),
                            std::string(size / 2 / sizeof(float) * sizeof(float), '\0'));
}

}  // namespace dragoman::fuzz
