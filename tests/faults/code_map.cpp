#include "code_map.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

namespace dragoman::faults {
namespace {

bool is_dragoman(std::string_view path) {
  return path.empty() || path.find("libdragoman") != path.npos || path.find("dragoman/plugins/") != path.npos;
}

bool stands_between(std::string_view path) {
  constexpr std::array<std::string_view, 5> kNames = {"libstdc++", "libgcc_s", "libc.so", "ld-linux", "fault_hooks"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return path.find(name) != path.npos; });
}

/// By its mangled name: a function of the JSON library, or of the standard library for its types.
bool is_of_header_library(std::string_view name) {
  constexpr std::string_view kJson = "8nlohmann";
  return name.starts_with("_ZN8nlohmann") || name.starts_with("_ZNK8nlohmann") ||
         ((name.starts_with("_ZNSt") || name.starts_with("_ZNKSt") || name.starts_with("_ZSt")) &&
          name.find(kJson) != name.npos);
}

/// Files of our own build: their headers are as the linker wrote them.
template <class Visit>
void for_each_function(std::string_view file, Visit visit) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* names = file.data() + sections[sections[i].sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(file.data() + sections[i].sh_offset);
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s)
      if (ELF64_ST_TYPE(symbols[s].st_info) == STT_FUNC) visit(names + symbols[s].st_name, symbols[s]);
  }
}

/// A file, which is not copied: there may be little memory. Empty if it cannot be mapped.
class MappedBytes {
 public:
  explicit MappedBytes(const char* file) {
    const int descriptor = ::open(file, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && status.st_size > 0) {
      const auto size = static_cast<std::size_t>(status.st_size);
      void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (data != MAP_FAILED) bytes_ = {static_cast<const char*>(data), size};
    }
    ::close(descriptor);
  }
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;
  ~MappedBytes() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace

void CodeMap::read_modules() {
  dl_iterate_phdr(note_module, this);
  std::ranges::sort(header_libraries_, {}, &Range::begin);
}

int CodeMap::note_module(dl_phdr_info* info, std::size_t, void* map) {
  auto& self = *static_cast<CodeMap*>(map);
  const std::string_view path = info->dlpi_name;
  const Owner owner = stands_between(path) ? Owner::kNobody : is_dragoman(path) ? Owner::kDragoman : Owner::kOthers;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    self.modules_.push_back({begin, begin + segment.p_memsz, owner});
  }
  if (owner == Owner::kDragoman)
    self.note_header_libraries(path.empty() ? "/proc/self/exe" : info->dlpi_name, info->dlpi_addr);
  return 0;
}

void CodeMap::note_header_libraries(const char* file, std::uintptr_t base) {
  const MappedBytes mapped(file);
  const std::string_view bytes = mapped.bytes();
  if (bytes.size() < sizeof(Elf64_Ehdr)) return;
  for_each_function(bytes, [&](std::string_view name, const Elf64_Sym& symbol) {
    if (is_of_header_library(name))
      header_libraries_.push_back({base + symbol.st_value, base + symbol.st_value + symbol.st_size, Owner::kOthers});
  });
}

CodeMap::Owner CodeMap::owner_of(const void* address) const {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  for (const Range& module : modules_) {
    if (place < module.begin || place >= module.end) continue;
    if (module.owner != Owner::kDragoman) return module.owner;
    const auto next = std::ranges::upper_bound(header_libraries_, place, {}, &Range::begin);
    const bool foreign = next != header_libraries_.begin() && place < std::prev(next)->end;
    return foreign ? Owner::kOthers : Owner::kDragoman;
  }
  return Owner::kNobody;
}

}  // namespace dragoman::faults
