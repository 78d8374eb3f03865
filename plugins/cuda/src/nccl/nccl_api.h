#pragma once

#include <climits>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <dragoman/collective/device_links.h>

namespace dragoman::backend::cuda {

/// What of NCCL is used, in our own words: of a library that was found when the program ran. No header of NVIDIA's is
/// needed, and nothing links it. Names are those of NCCL's manual without the prefix.
namespace nccl {

struct Communicator;  ///< opaque

struct UniqueId {
  char bytes[128];  // NOLINT(modernize-avoid-c-arrays): it is passed by value, as C does
};

/// A result of any call.
enum Result : int {  // NOLINT(*-use-enum-class): a later library may have others
  kSuccess = 0,
  kInProgress = 7,
};

constexpr int kUint8 = 1;  ///< a type of data

constexpr int version_code(int major, int minor, int patch) {
  return major * 10000 + minor * 100 + patch;
}
/// The first that has all that is used, by what is known of it, and knows CUDA 12.
constexpr int kOldest = version_code(2, 18, 1);

/// As of kOldest, which it says: later libraries take what they know of it.
struct Config {
  static constexpr int kLibraryChooses = INT_MIN;
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = kOldest;
  int blocking = 0;  ///< calls return kInProgress instead of waiting for others
  int cluster_size = kLibraryChooses;
  int fewest_blocks = kLibraryChooses;
  int most_blocks = kLibraryChooses;
  const char* network = nullptr;
  int split_share = kLibraryChooses;
};

}  // namespace nccl

struct NcclApi {
  int (*get_version)(int* version) = nullptr;
  int (*get_unique_id)(nccl::UniqueId* id) = nullptr;
  int (*init)(nccl::Communicator** made, int size, nccl::UniqueId id, int rank, nccl::Config* config) = nullptr;
  int (*abort)(nccl::Communicator*) = nullptr;
  int (*async_error)(nccl::Communicator*, int* result) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void* data, std::size_t count, int type, int to, nccl::Communicator*, void* stream) = nullptr;
  int (*receive)(void* data, std::size_t count, int type, int from, nccl::Communicator*, void* stream) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  const char* (*last_error)(nccl::Communicator*) = nullptr;
  std::string version;  ///< "NCCL 2.21.5"
};

/// Where the library is looked for and what came of it.
struct NcclLoad {
  std::unique_ptr<const NcclApi> api;  ///< nullptr: it is not here, or too old
  std::string found;                   ///< "libnccl.so.2", else why there is none and how to get it
  std::string describe() const { return api == nullptr ? found : api->version + ", " + found; }
};
/// The first of `files` that is there; it is never closed.
NcclLoad open_nccl(std::span<const char* const> files);
/// By the loader's paths, then where NVIDIA's packages put it. Opened once in a process.
const NcclLoad& load_nccl();

/// What a process with such a library has for links; `device` is a name that no other device has.
collective::LinkOffer nccl_offer(const NcclLoad& load, std::string device);

}  // namespace dragoman::backend::cuda
