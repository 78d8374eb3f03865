#include "dragoman/collective/device_links.h"

#include <algorithm>

#include <fmt/format.h>

namespace dragoman::collective {

DeviceLinks::~DeviceLinks() = default;

std::string reason_against_links(Collective& ranks, const LinkOffer& mine) {
  const std::vector<std::string> troubles = ranks.gather_texts(mine.trouble);
  const std::vector<std::string> versions = ranks.gather_texts(mine.version);
  const std::vector<std::string> devices = ranks.gather_texts(mine.device);
  for (std::size_t r = 0; r < troubles.size(); ++r)
    if (!troubles[r].empty()) return fmt::format("{}: {}", ranks.name_of(static_cast<int>(r)), troubles[r]);
  for (std::size_t r = 1; r < versions.size(); ++r)
    if (versions[r] != versions[0])
      return fmt::format("{} has {}, and {} has {}; install the same everywhere", ranks.name_of(static_cast<int>(r)),
                         versions[r], ranks.name_of(0), versions[0]);
  for (std::size_t r = 1; r < devices.size(); ++r) {
    const auto same = std::ranges::find(devices, devices[r]) - devices.begin();
    if (same < static_cast<std::ptrdiff_t>(r))
      return fmt::format("{} and {} compute on the same device ({}); start as many processes on a machine as it has",
                         ranks.name_of(static_cast<int>(same)), ranks.name_of(static_cast<int>(r)), devices[r]);
  }
  return {};
}

}  // namespace dragoman::collective
