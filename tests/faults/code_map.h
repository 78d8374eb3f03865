#pragma once

#include <cstdint>
#include <vector>

#include <link.h>

namespace dragoman::faults {

/// Whose code lies where in this process: Dragoman's, or other people's.
///
/// Header libraries are compiled into Dragoman's modules and yet are other people's code: nlohmann's JSON allocates in
/// its destructors, which nobody who uses it can mend. The symbol tables of the modules tell where such functions lie.
class CodeMap {
 public:
  enum class Owner : std::uint8_t {
    kDragoman,
    kOthers,
    kNobody,  ///< the C and C++ run-time libraries and the hooks, which stand between a caller and what it wants
  };

  /// Looks at all modules that are loaded now.
  void read_modules();
  Owner owner_of(const void* address) const;

 private:
  struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    Owner owner = Owner::kNobody;
  };
  static int note_module(dl_phdr_info* info, std::size_t size, void* map);
  void note_header_libraries(const char* file, std::uintptr_t base);

  std::vector<Range> modules_;
  std::vector<Range> header_libraries_;  // sorted, within Dragoman's modules
};

}  // namespace dragoman::faults
