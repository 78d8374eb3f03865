#include "checks.h"

#include <dragoman/core/error.h>
#include <dragoman/formats/parameters.h>

namespace dragoman::plugins {
namespace {

/// Removes the file at the end of the check.
class ScratchFile {
 public:
  explicit ScratchFile(const std::filesystem::path& folder) : path_(folder / "conformance.safetensors") {
    core::require(!folder.empty(), core::ErrorCode::kInvalidArgument, "the conformance kit needs a scratch folder");
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

Finding check_round_trip(const Bench& bench) {
  Subject subject = bench.subject();
  const ScratchFile file(bench.scratch_folder);
  formats::save_parameters(file.path(), subject.model().parameters());
  const auto remade = Subject::remade(bench.entry, subject.model());
  if (remade->config() != subject.model().config())
    return {false, fmt::format("config() gives {}, and a model made of that gives {}", subject.model().config().dump(),
                               remade->config().dump())};
  formats::load_parameters(file.path(), remade->parameters(),
                           {.device_memory = &subject.memory(), .dtype = subject.dtype(), .device = bench.device});
  const std::vector<Pair> pairs = example_pairs();
  const Distance found = distance(decode_whole(subject.context(), *remade, pairs), decode_whole(subject, pairs));
  return judge(found, 0,
               fmt::format("saved, made anew of config() and loaded: {} parameters", remade->parameters().all().size()),
               "the model has values that are neither parameters nor a function of its configuration, or config() "
               "leaves out a key");
}

}  // namespace dragoman::plugins
