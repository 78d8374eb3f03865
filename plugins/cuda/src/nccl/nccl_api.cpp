#include "nccl_api.h"

#include <array>
#include <type_traits>

#include <dlfcn.h>
#include <fmt/format.h>

namespace dragoman::backend::cuda {
namespace {

constexpr std::array<const char*, 2> kNcclFiles{"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"};

std::string nccl_version(int code) {
  // Before 2.9 there was a digit less.
  const int major = code >= 10000 ? code / 10000 : code / 1000;
  const int rest = code - major * (code >= 10000 ? 10000 : 1000);
  return fmt::format("NCCL {}.{}.{}", major, rest / 100, rest % 100);
}

bool take_nccl_functions(void* library, NcclApi& api) {
  bool complete = true;
  const auto take = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  take(api.get_version, "ncclGetVersion");
  take(api.get_unique_id, "ncclGetUniqueId");
  take(api.init, "ncclCommInitRankConfig");
  take(api.abort, "ncclCommAbort");
  take(api.async_error, "ncclCommGetAsyncError");
  take(api.group_start, "ncclGroupStart");
  take(api.group_end, "ncclGroupEnd");
  take(api.send, "ncclSend");
  take(api.receive, "ncclRecv");
  take(api.error_string, "ncclGetErrorString");
  take(api.last_error, "ncclGetLastError");
  return complete;
}

}  // namespace

NcclLoad open_nccl(std::span<const char* const> files) {
  NcclLoad load;
  for (const char* file : files) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    auto api = std::make_unique<NcclApi>();
    const bool complete = take_nccl_functions(library, *api);
    int code = 0;
    if (api->get_version == nullptr || api->get_version(&code) != nccl::kSuccess || code < nccl::kOldest || !complete) {
      load.found = fmt::format("{} is {}{}; {} or later is needed", file, code == 0 ? "no NCCL" : nccl_version(code),
                               code >= nccl::kOldest ? ", which lacks functions" : "", nccl_version(nccl::kOldest));
      dlclose(library);
      continue;
    }
    api->version = nccl_version(code);
    load.found = file;
    load.api = std::move(api);
    return load;
  }
  if (load.found.empty())
    load.found = "libnccl.so.2 is not here: install NVIDIA's package libnccl2, or name its folder in LD_LIBRARY_PATH";
  return load;
}

const NcclLoad& load_nccl() {
  // It lives to the end, as the library itself does: static objects may use it later than it would be destroyed.
  static const NcclLoad& load = *new NcclLoad(open_nccl(kNcclFiles));
  return load;
}

collective::LinkOffer nccl_offer(const NcclLoad& load, std::string device) {
  if (load.api == nullptr) return {.trouble = load.found};
  return {.version = load.api->version, .device = std::move(device)};
}

}  // namespace dragoman::backend::cuda
