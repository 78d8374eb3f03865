#include "dragoman/tensor/kernel_table.h"

#include <dragoman/core/error.h>

namespace dragoman::tensor {

void KernelTable::insert(std::string_view name, ErasedKernel kernel, std::string_view signature) {
  const bool inserted = kernels_.try_emplace(name, Entry{kernel, signature}).second;
  core::require(inserted, core::ErrorCode::kInvalidArgument, "the {} backend already has a kernel for the op '{}'",
                device_.backend(), name);
}

KernelTable::ErasedKernel KernelTable::lookup(std::string_view name, std::string_view signature) const {
  const auto found = kernels_.find(name);
  if (found == kernels_.end()) return nullptr;
  core::require(found->second.signature == signature, core::ErrorCode::kInvalidArgument,
                "the op '{}' was registered as {} but is called as {}", name, found->second.signature, signature);
  return found->second.kernel;
}

void KernelTable::erase(std::string_view name) {
  kernels_.erase(kernels_.find(name));
}

}  // namespace dragoman::tensor
