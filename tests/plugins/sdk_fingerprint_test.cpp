#include "error_message.h"
#include "planted_file.h"
#include "test_data.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/plugins/fingerprint.h>
#include <dragoman/plugins/host.h>
#include <dragoman/plugins/plugin_loader.h>

// The fingerprint covers exactly the headers of the SDK: <dragoman/plugins/sdk.h> and all that it includes.
namespace dragoman::plugins {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

void register_no_entry(Registrar&) {}

/// Why a plugin is refused that was compiled with headers of this hash; empty: it is not.
std::string refusal_of_headers(const std::string& hash) {
  std::string fingerprint = kFingerprint;
  const std::size_t at = fingerprint.find(kHeadersHash);
  if (at == std::string::npos) return "the program's own fingerprint holds no hash of headers";
  fingerprint.replace(at, kHeadersHash.size(), hash);
  const PluginDescriptor descriptor{sizeof(PluginDescriptor), kPluginMagic, fingerprint.c_str(), "1.0", "mine", "MIT",
                                    register_no_entry};
  return error_of([&] { check_descriptor(&descriptor, "mine.so"); });
}

void run_shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}
std::string in_quotes(const std::filesystem::path& path) {
  return "'" + path.string() + "'";
}

/// What the fingerprint's script finds: a hash for a change in each header.
struct Planted {
  std::string unchanged;
  std::string others;  ///< with a change in every header that the SDK does not include
  int other_headers = 0;
  std::map<std::string, std::string> headers;
};
const Planted& planted_changes() {
  static const Planted planted = [] {
    const testing::TemporaryFolder folder;
    run_shell(in_quotes(testing::built("cmake")) + " -DCMAKE_FOLDER=" + in_quotes(testing::source_folder() / "cmake") +
              " -DROOTS_FILE=" + in_quotes(testing::built("include_roots")) +
              " -DWORK=" + in_quotes(folder / "headers") + " -DOUTPUT=" + in_quotes(folder / "hashes") + " -P " +
              in_quotes(testing::source_folder() / "tests/plugins/sdk_fingerprint/plant_each.cmake"));
    Planted found;
    std::ifstream file(folder / "hashes");
    for (std::string kind; file >> kind;) {
      std::string name;
      if (kind == "unchanged") file >> found.unchanged;
      if (kind == "others") file >> found.other_headers >> found.others;
      if (kind == "sdk" && file >> name) file >> found.headers[name];
    }
    return found;
  }();
  return planted;
}

std::set<std::string> sdk_headers() {
  std::set<std::string> names;
  for (const auto& [name, hash] : planted_changes().headers) names.insert(name);
  return names;
}

TEST(SdkFingerprint, AChangeOfLayoutInAnyHeaderOfTheSdkRefusesThePlugin) {
  const Planted& planted = planted_changes();
  EXPECT_EQ(planted.unchanged, kHeadersHash) << "the script hashes what this program was compiled with";
  EXPECT_EQ(refusal_of_headers(planted.unchanged), "no error");
  EXPECT_GT(planted.headers.size(), 80U);
  std::set<std::string> hashes;
  for (const auto& [name, hash] : planted.headers) {
    EXPECT_THAT(refusal_of_headers(hash),
                AllOf(HasSubstr("built for another SDK"), HasSubstr("SDK headers '" + hash.substr(0, 12) + "'")))
        << name;
    EXPECT_TRUE(hashes.insert(hash).second) << name;
  }
}

TEST(SdkFingerprint, OtherHeadersMayChange) {
  EXPECT_GT(planted_changes().other_headers, 50);
  EXPECT_EQ(refusal_of_headers(planted_changes().others), "no error");
}

TEST(SdkFingerprint, APluginThatWasCompiledWithAnotherLayoutIsNotLoaded) {
  Host host;
  EXPECT_THAT(error_of([&] { host.loader().load(planted_file("other_layout")); }),
              AllOf(HasSubstr("built for another SDK (SDK headers '"), HasSubstr("rebuild it")));
}

/// The compiler has the last word on what is included.
TEST(SdkFingerprint, CoversWhatTheCompilerIncludes) {
  const testing::TemporaryFolder folder;
  std::string roots;
  std::ifstream file(testing::built("include_roots"));
  for (std::string root; std::getline(file, root);) roots += " -I" + in_quotes(root);
  std::ofstream(folder / "sdk.cpp") << "#include <dragoman/plugins/sdk.h>\n";
  run_shell(in_quotes(testing::built("compiler")) + " -std=c++20 -M" + roots + " " + in_quotes(folder / "sdk.cpp") +
            " >" + in_quotes(folder / "included"));
  const std::string included = core::read_file(folder / "included");
  std::set<std::string> names;
  const std::regex header("/(dragoman/[a-z0-9_]+/[a-z0-9_]+[.]h)");
  for (std::sregex_iterator match(included.begin(), included.end(), header), end; match != end; ++match)
    names.insert((*match)[1]);
  EXPECT_EQ(names.erase("dragoman/plugins/fingerprint.h"), 1U) << "which holds the hash";
  EXPECT_EQ(names, sdk_headers());
}

/// Every header of the library that the sources in the folder include, but for those of the folder itself.
std::set<std::string> included_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  const std::regex include("#include <(dragoman/[a-z0-9_/]+[.]h)>");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cpp" && extension != ".h" && extension != ".cu") continue;
    const std::string text = core::read_file(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), include), end; match != end; ++match)
      names.insert((*match)[1]);
  }
  return names;
}

TEST(SdkFingerprint, CoversWhatPluginsInclude) {
  std::set<std::string> headers = sdk_headers();
  headers.insert("dragoman/plugins/fingerprint.h");
  // The plugin `cuda` includes its own public headers, too.
  for (const char* header : {"dragoman/backend_cuda/install.h", "dragoman/backend_cuda/memory_use.h"})
    headers.insert(header);
  for (const char* folder :
       {"examples/plugin", "examples/from-parts", "examples/op", "plugins/ssru", "plugins/mpi", "plugins/cuda"})
    EXPECT_THAT(included_in(testing::source_folder() / folder), ::testing::Each(::testing::AnyOfArray(headers)))
        << folder;
}

}  // namespace
}  // namespace dragoman::plugins
