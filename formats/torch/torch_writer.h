#pragma once

#include "archive/zip_writer.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <dragoman/core/json.h>

namespace dragoman::imports {

/// Writes the output of torch.save() for {"args": argparse.Namespace, "model": state dict}: a pickle of protocol 2 and
/// a storage of floats for each tensor. One thread at a time.
class TorchWriter {
 public:
  /// `settings` become the Namespace. They may be integers, flags and strings.
  TorchWriter(const std::filesystem::path& path, const core::Json& settings);
  void add(std::string_view name, std::span<const std::int64_t> shape, std::span<const float> values);
  /// Gives the file its name.
  void finish();

 private:
  void put_text(std::string_view text);
  void put_number(std::int32_t number);

  ZipWriter archive_;
  std::string pickle_;
  int storages_ = 0;
};

}  // namespace dragoman::imports
