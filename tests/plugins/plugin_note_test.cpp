#include "dragoman/plugins/plugin_note.h"

#include "error_message.h"
#include "planted_file.h"
#include "test_data.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/plugins/fingerprint.h>
#include <dragoman/plugins/host.h>

namespace dragoman::plugins {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::optional<PluginNote> note_in(const std::string& bytes) {
  return find_plugin_note(std::as_bytes(std::span(bytes)), "test.so");
}

/// Whether any code of a planted library with a trace ran during `action`.
template <class Action>
bool code_ran(Action&& action) {
  const testing::TemporaryFolder folder;
  const std::string trace = (folder / "trace").string();
  ::setenv("DRAGOMAN_PLANTED_TRACE", trace.c_str(), 1);
  action();
  ::unsetenv("DRAGOMAN_PLANTED_TRACE");
  return std::filesystem::exists(trace);
}

TEST(PluginNote, SaysWhatThePluginIsWithoutRunningIt) {
  EXPECT_FALSE(code_ran([] {
    const auto note = read_plugin_note(planted_file("tracing"));
    ASSERT_TRUE(note);
    EXPECT_EQ(note->name, "tracing");
    EXPECT_EQ(note->licence, "\x1b[2J\x1b]0;owned\x07MIT");
    EXPECT_EQ(note->toolkit_version, kToolkitVersion);
    EXPECT_EQ(note->fingerprint, kFingerprint);
    EXPECT_EQ(note->sdk_difference(), "");
  }));
  // Loading it does leave the trace: the test above could have failed.
  EXPECT_TRUE(code_ran([] { Host().loader().load(planted_file("tracing")); }));
}

TEST(PluginNote, StandsInEveryBundledPlugin) {
  const auto note = read_plugin_note(testing::built("ssru_plugin"));
  ASSERT_TRUE(note);
  EXPECT_EQ(note->name, "ssru");
  EXPECT_EQ(note->licence, "Apache-2.0");
}

TEST(PluginNote, OtherLibrariesHaveNone) {
  EXPECT_FALSE(read_plugin_note(planted_file("no_note")));
}

TEST(PluginNote, ALibraryOfAnotherSdkIsRefusedBeforeItsConstructorsRun) {
  Host host;
  EXPECT_FALSE(code_ran([&] {
    EXPECT_THAT(error_of([&] { host.loader().load(planted_file("foreign_sdk")); }),
                AllOf(HasSubstr("built for another SDK"), HasSubstr("compiler 'gcc 3' where this program has")));
    EXPECT_THAT(error_of([&] { host.loader().load(planted_file("no_note")); }),
                HasSubstr("is a shared library but no Dragoman plugin, or one of an older SDK"));
  }));
}

TEST(PluginNote, FilesThatAreNoSharedLibraries) {
  EXPECT_THAT(error_of([] { note_in("stages:\n  - read: {}\n"); }),
              HasSubstr("test.so: cannot be loaded as a shared library"));
  EXPECT_THAT(error_of([] { note_in(""); }), HasSubstr("no ELF file"));
  EXPECT_THAT(error_of([] { note_in("\177ELF"); }), HasSubstr("the ELF file has 4 bytes"));
  std::string library = content_of(planted_file("good"));
  library[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(error_of([&] { note_in(library); }), HasSubstr("another kind of machine"));
  library[EI_CLASS] = ELFCLASS64;
  library[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
  EXPECT_THAT(error_of([&] { note_in(library); }), HasSubstr("no shared library"));
}

/// The file whose segments are all of one kind and the whole file.
std::string library_of_notes(std::size_t segments, std::size_t bytes) {
  std::string library(std::max(bytes, sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr)), '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<Elf64_Half>(segments);
  std::memcpy(library.data(), &header, sizeof header);
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + segments * sizeof segment;
  segment.p_filesz = library.size() - segment.p_offset;
  for (std::size_t i = 0; i < segments; ++i)
    std::memcpy(library.data() + sizeof header + i * sizeof segment, &segment, sizeof segment);
  return library;
}

TEST(PluginNote, OverlappingSegmentsCannotMultiplyTheWork) {
  EXPECT_THAT(error_of([] { note_in(library_of_notes(60000, std::size_t{16} << 20)); }),
              HasSubstr("holds more than 1000 ELF notes"));
}

TEST(PluginNote, SizesThatOverflowAreRefused) {
  std::string library = library_of_notes(1, 4096);
  const std::size_t segment = sizeof(Elf64_Ehdr);
  for (const std::size_t field : {offsetof(Elf64_Phdr, p_offset), offsetof(Elf64_Phdr, p_filesz)}) {
    std::string damaged = library;
    for (std::size_t i = 0; i < 8; ++i) damaged[segment + field + i] = '\xFF';
    EXPECT_THAT(error_of([&] { note_in(damaged); }), HasSubstr("truncated or damaged"));
  }
}

// Every cut, and random changes of the parts that are read: an answer or a core::Error, within the bytes of the file.
/// The loader maps what the headers speak of, and the process would be killed by SIGBUS where the file ends before.
TEST(PluginNote, AFileThatEndsBeforeItsSegmentsIsRefused) {
  const std::string library = content_of(planted_file("good"));
  const testing::TemporaryFolder folder;
  // Debug information, which is not part of any segment, comes last and may be more than half of the file.
  for (const std::size_t kept : {library.size() / 8, library.size() / 16}) {
    std::ofstream(folder / "cut.so", std::ios::binary) << library.substr(0, kept);
    try {
      read_plugin_note(folder / "cut.so");
      ADD_FAILURE() << "accepted " << kept << " of " << library.size() << " bytes";
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("truncated or damaged"));
    }
  }
  EXPECT_TRUE(read_plugin_note(planted_file("good")).has_value());
}

TEST(PluginNote, DamagedFilesAreReadWithinTheirBounds) {
  const std::string library = content_of(planted_file("foreign_sdk"));
  const std::size_t note = library.find("Dragoman");
  ASSERT_NE(note, library.npos);
  const auto read = [](const std::string& bytes) {
    // Memory of exactly that size, so that a sanitizer sees what lies outside.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    try {
      find_plugin_note(std::as_bytes(std::span(exact)), "test.so");
    } catch (const core::Error&) {
    }
  };
  for (std::size_t size = 0; size < note + 200; ++size) read(library.substr(0, size));
  std::mt19937 random(1);
  const auto head = library.substr(0, note + 200);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = head;
    for (int change = 0; change < 3; ++change) {
      const std::size_t begin = change == 0 ? note - 12 : 0;
      damaged[begin + random() % (damaged.size() - begin)] = static_cast<char>(random());
    }
    read(damaged);
  }
}

}  // namespace
}  // namespace dragoman::plugins
