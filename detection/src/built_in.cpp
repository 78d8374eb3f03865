#include <string_view>

#include <dragoman/detection/language_detector.h>

// The table as it is in the source tree (DRAGOMAN_DETECTOR_TABLE, from CMake), between two symbols.
asm(".section .rodata\n"
    ".balign 16\n"
    ".local dragoman_detector_table\n"
    "dragoman_detector_table:\n"
    ".incbin \"" DRAGOMAN_DETECTOR_TABLE
    "\"\n"
    ".local dragoman_detector_table_end\n"
    "dragoman_detector_table_end:\n"
    ".previous\n");

extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming): the assembler's name
extern const char dragoman_detector_table[];
// NOLINTNEXTLINE(readability-identifier-naming): the assembler's name
extern const char dragoman_detector_table_end[];
}

namespace dragoman::detection {

const LanguageDetector& built_in_detector() {
  static const LanguageDetector detector = LanguageDetector::from_bytes(
      {dragoman_detector_table, static_cast<std::size_t>(dragoman_detector_table_end - dragoman_detector_table)},
      "the built-in table");
  return detector;
}

}  // namespace dragoman::detection
