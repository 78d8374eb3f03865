#include "opened_files.h"
#include "source_tree.h"
#include "test_data.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dragoman::testing {
namespace {

namespace fs = std::filesystem;

std::string architecture_page() {
  std::ifstream in(source_folder() / "docs" / "project" / "architecture.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::set<std::string> keys_of(const std::map<std::string, std::set<std::string>>& allowed) {
  std::set<std::string> keys;
  for (const auto& [folder, below] : allowed) keys.insert(folder);
  return keys;
}

/// The tree as it is, and what the page says of it.
class Layout : public ::testing::Test {
 protected:
  const std::map<std::string, std::set<std::string>> allowed_ = read_allowed_arrows(architecture_page());
  const std::vector<SourceFile> files_ = read_sources(source_folder(), keys_of(allowed_));
};

TEST_F(Layout, ThePageNamesEveryFolderOfTheLibrary) {
  std::set<std::string> folders;
  for (const auto& entry : fs::directory_iterator(source_folder()))
    if (entry.is_directory() && fs::exists(entry.path() / "CMakeLists.txt")) folders.insert(entry.path().filename());
  for (const fs::path root : {"models", "plugins", "server"})  // whose components register themselves
    if (fs::is_directory(source_folder() / root)) folders.insert(root);
  for (const char* other : {"tests", "bench", "build"}) folders.erase(other);
  EXPECT_EQ(keys_of(allowed_), folders);
}

TEST_F(Layout, FoldersIncludeOnlyWhatThePageAllows) {
  const Arrows arrows = arrows_between(files_);
  ASSERT_GT(arrows.size(), 20u);
  for (const auto& [arrow, example] : arrows) EXPECT_TRUE(allowed_.at(arrow.first).contains(arrow.second)) << example;
}

TEST_F(Layout, NoTwoFoldersMayIncludeEachOther) {
  for (const auto& [folder, below] : allowed_)
    for (const std::string& other : below)
      EXPECT_FALSE(allowed_.at(other).contains(folder)) << folder << " and " << other;
}

TEST_F(Layout, NoFolderHasMoreThanAFifthOfTheLibrary) {
  std::map<std::string, std::size_t> lines;
  for (const SourceFile& file : files_) lines[file.top_level()] += file.lines;
  const std::size_t all = std::accumulate(lines.begin(), lines.end(), std::size_t{0},
                                          [](std::size_t sum, const auto& folder) { return sum + folder.second; });
  ASSERT_GT(all, 50'000u);
  for (const auto& [folder, count] : lines)
    EXPECT_LE(5 * count, all) << folder << " has " << count << " lines of " << all;
}

TEST_F(Layout, NoSourceFolderHasMoreThan25Files) {
  std::map<fs::path, int> sources;
  for (const SourceFile& file : files_)
    if (file.path.find("include/dragoman/") == std::string::npos) ++sources[fs::path(file.path).parent_path()];
  for (const auto& [folder, count] : sources) EXPECT_LE(count, 25) << folder;
}

/// Folders of tests that are about the whole, or about what is no part of the library.
const std::set<std::string> kOfTheWhole = {"allocations", "bench",  "docs",    "faults", "fuzz",
                                           "gpu",         "layout", "recipes", "support"};

/// "plugins/cuda/nccl" is the folder of that name, or plugins/cuda/src/nccl.
bool is_in_the_library(const fs::path& folder) {
  return fs::is_directory(source_folder() / folder) ||
         fs::is_directory(source_folder() / folder.parent_path() / "src" / folder.filename());
}

TEST_F(Layout, TestsMirrorTheTree) {
  const fs::path tests = source_folder() / "tests";
  std::set<std::string> strangers;
  for (const auto& entry : fs::recursive_directory_iterator(tests)) {
    if (!entry.is_regular_file() || !entry.path().filename().string().ends_with("_test.cpp")) continue;
    const fs::path folder = fs::relative(entry.path().parent_path(), tests);
    if (!kOfTheWhole.contains(folder.begin()->string()) && !is_in_the_library(folder))
      strangers.insert(folder.generic_string());
  }
  EXPECT_EQ(strangers, std::set<std::string>{});
}

/// Options of other programs, by the words before them.
const std::regex kOfOtherPrograms("marian-conv --gemm-type|srun --mpi");
/// Custom properties of CSS look like flags.
const std::set<std::string> kStyles = {"report/src/page_script.cpp", "report/src/page_style.cpp"};

/// Errors name the keys of options, and the command line makes flags of them: a program in Python has none.
TEST_F(Layout, TheLibraryNamesNoFlagsOfTheCommandLine) {
  const std::regex flag(R"re("[^"]*--[a-z][^"]*")re");
  int of_other_programs = 0;
  for (const SourceFile& file : files_) {
    if (file.top_level() == "cli" || kStyles.contains(file.path)) continue;
    std::ifstream in(source_folder() / file.path);
    for (std::string line; std::getline(in, line);) {
      if (line.find_first_not_of(' ') == line.find("//")) continue;
      if (!std::regex_search(line, flag)) continue;
      if (std::regex_search(line, kOfOtherPrograms))
        ++of_other_programs;
      else
        ADD_FAILURE() << file.path << ": " << line << ": name the option by its key, in backquotes";
    }
  }
  EXPECT_EQ(of_other_programs, 2) << "flags in string literals are found";
}

/// Public headers that include the whole JSON library, since their structs have trees as members. It costs two seconds
/// in each source that it reaches: what is new includes core/json_fwd.h, and core/shared_json.h for a member.
const std::set<std::string> kIncludeJson = {"dragoman/formats/model_config.h",    "dragoman/formats/model_folder.h",
                                            "dragoman/formats/model_importer.h",  "dragoman/imports/adapters.h",
                                            "dragoman/pipeline/reranker.h",       "dragoman/pipeline_api/record.h",
                                            "dragoman/plugins/convert.h",         "dragoman/plugins/import_model.h",
                                            "dragoman/plugins/registrar.h",       "dragoman/plugins/sdk.h",
                                            "dragoman/report/run_history.h",      "dragoman/training/config.h",
                                            "dragoman/training/training_state.h", "dragoman/training/tune.h"};

TEST_F(Layout, NoOtherPublicHeaderIncludesTheJsonLibrary) {
  std::set<std::string> including;
  for (const auto& [name, path] : headers_by_name(files_)) {
    std::ifstream in(source_folder() / path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const bool includes = text.find("#include <dragoman/core/json.h>") != std::string::npos ||
                          text.find("#include <nlohmann/json.hpp>") != std::string::npos;
    if (includes && name != "dragoman/core/json.h") including.insert(name);
  }
  EXPECT_EQ(including, kIncludeJson) << "those that no longer do are taken from the list";
}

TEST(SourceTree, FindsAnArrowThatThePageDoesNotAllow) {
  const TemporaryFolder tree;
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((tree / name).parent_path());
    std::ofstream(tree / name) << text;
  };
  write("low/include/dragoman/low/a.h", "#include <dragoman/high/b.h>\n");
  write("high/include/dragoman/high/b.h", "#pragma once\n#include <string>\n");
  write("high/src/b.cpp", "#include \"dragoman/high/b.h\"\n#include <dragoman/low/a.h>\n");
  const Arrows arrows = arrows_between(read_sources(tree.path(), {"low", "high"}));
  EXPECT_EQ(arrows, (Arrows{{{"low", "high"}, "low/include/dragoman/low/a.h includes dragoman/high/b.h"},
                            {{"high", "low"}, "high/src/b.cpp includes dragoman/low/a.h"}}));
  const auto allowed = read_allowed_arrows(
      "# Page\n\n## Where things are\n\n| folder | contents | may include |\n|---|---|---|\n| `low/` | x | |\n"
      "| `middle/` | x | low |\n| `high/` | x | middle |\n\n## More\n\n| `other/` | x | high |\n");
  EXPECT_EQ(allowed, (std::map<std::string, std::set<std::string>>{
                         {"low", {}}, {"middle", {"low"}}, {"high", {"low", "middle"}}}));
}

/// Files are opened in core/src/files alone, where links, pipes and devices are dealt with. Each entry is one opening
/// elsewhere, with its reason. An OutputFile follows links, as it must where the user names a file; the program's own
/// files are written by write_file() and AppendFile, which do not.
const std::vector<AllowedOpening> kOpenings = {
    // no file of anybody's
    {"core/src/base/resident_memory.cpp", R"(fopen("/proc/self/statm", "re"))", "of the kernel"},
    {"core/src/threads/parallel.cpp", R"(std::ifstream v2("/sys/fs/cgroup/cpu.max"))", "of the kernel"},
    {"core/src/threads/parallel.cpp", R"(std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"))", "of the kernel"},
    {"core/src/threads/parallel.cpp", R"(std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us"))", "of the kernel"},
    {"cli/src/program/standard_streams.cpp", R"(::open("/dev/null", kModes[fd]))", "a closed standard stream"},
    {"cli/src/commands/prepare.cpp", R"(OutputFile out("-"))", "standard output"},
    {"cli/src/commands/tune.cpp", R"(OutputFile out("-"))", "standard output"},
    {"cli/src/commands/evaluation/evaluate.cpp", R"(OutputFile output("-"))", "standard output"},
    {"cli/src/commands/evaluation/evaluate.cpp", R"(OutputFile output("-"))", "standard output"},
    {"cli/src/commands/evaluation/evaluate.cpp", R"(OutputFile output("-"))", "standard output"},
    // files without names
    {"formats/folder/src/scratch_file.cpp", "O_TMPFILE | O_RDWR", "has no name"},
    {"formats/folder/src/scratch_file.cpp", "::mkostemp(name.data(), O_CLOEXEC)", "a new name, removed at once"},
    {"tokenizer/reading/src/word_runs.cpp", "::mkostemp(name.data(), O_CLOEXEC)", "a new name, removed at once"},
    // what core has no function for
    {"formats/folder/src/mapped_file.cpp", "::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)",
     "a mapping: without waiting, and regular files only"},
    {"server/dialects/src/libretranslate/suggestion_file.cpp", "O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK",
     "appends: no links, without waiting, and regular files only"},
    {"server/dialects/src/libretranslate/suggestion_file.cpp", "::ftruncate(file_,", "takes back a part of a line"},
    {"training/run/src/records/checkpoint.cpp", "fs::rename(checkpoint, nameless, error)",
     "renames the entry of a run's folder, whatever it is"},
    // files that the user names
    {"core/include/dragoman/core/named_file.h", "void write_named_file(", "the declaration"},
    {"cli/src/commands/count_words.cpp", "OutputFile output(output_,", "named by the user"},
    {"cli/src/commands/decode.cpp", "OutputFile output(output_,", "named by the user"},
    {"cli/src/commands/detection/detect.cpp", "OutputFile output(output_,", "named by the user"},
    {"cli/src/commands/encode.cpp", "OutputFile output(output_,", "named by the user"},
    {"cli/src/commands/report.cpp", "OutputFile out(output_,", "named by the user"},
    {"cli/src/commands/shortlist.cpp", "OutputFile out(output_,", "named by the user"},
    {"cli/src/options/init_options.cpp", "write_named_file(configuration, text)", "named by the user"},
    {"cli/src/options/lines/line_job.h", "OutputFile> out_;", "named by the user"},
    {"corpus/src/pair_writer.h", "OutputFile> source_;", "named by the user"},
    {"corpus/src/pair_writer.h", "OutputFile> target_;", "named by the user"},
    {"corpus/src/pair_writer.h", "OutputFile> file_;", "named by the user"},
    {"detection/src/learn_detector.cpp", "OutputFile file(output,", "named by the user"},
    {"pipeline/include/dragoman/pipeline/record_io.h", "OutputFile file_;", "named by the user"},
    {"server/operation/src/keys.cpp", "OutputFile out(file);", "the file of keys, named by the user"},
    {"tokenizer/bpe/src/bpe_tokenizer.cpp", "write_named_file(path, to_json())", "save(), to a file of the caller's"},
    {"tokenizer/formats/src/tokenizer_files.cpp", "write_named_file(path, write(definition))", "named by the user"},
    {"tokenizer/formats/src/tokenizer_files.cpp", "write_named_file(path, written_unigram(definition, kind))",
     "named by the user"},
    // files in a folder that was just made, is empty and is locked; average_parameters() writes a file of the user's
    {"formats/archive/zip_writer.h", "OutputFile file_;", "in the folder of an export in the making"},
    {"formats/ctranslate2/export.cpp", "OutputFile file(path,", "in the folder of an export in the making"},
    {"formats/folder/src/folder_replacement.cpp", "OutputFile output(folder() / file.filename(),",
     "in a model folder in the making"},
    {"formats/folder/src/npy.cpp", "OutputFile file(path,", "in a folder that was new or empty"},
    {"formats/folder/src/safetensors_writer.cpp", "OutputFile file;",
     "in a folder in the making, or named by the user"},
};

TEST_F(Layout, FilesAreOpenedInOnePlace) {
  std::vector<Opening> found;
  for (const SourceFile& file : files_) {
    if (file.path.starts_with("core/src/files/")) continue;
    std::ifstream in(source_folder() / file.path);
    std::ranges::move(openings_in(file.path, in), std::back_inserter(found));
  }
  for (const std::string& wrong : compare_openings(found, kOpenings)) ADD_FAILURE() << wrong;
}

/// Compilers remove calls of functions that do nothing but prefetch: core::prefetch() is the one that stays.
TEST_F(Layout, MemoryIsPrefetchedByOneFunction) {
  for (const SourceFile& file : files_) {
    if (file.path == "core/include/dragoman/core/prefetch.h") continue;
    std::ifstream in(source_folder() / file.path);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_EQ(text.find("__builtin_prefetch"), std::string::npos) << file.path << ": use core::prefetch()";
  }
}

/// Keys of files and strangers are hashed with the seeds of the process, by the tables of core/hash_tables.h. Other
/// tables have addresses as keys, or a structure of our own.
TEST_F(Layout, NoHashTableHasAHashThatAnybodyKnows) {
  const std::regex table(R"(std::unordered_\w+\b(?!<(Connection\*|PickleRef>|MatmulKey)))");
  for (const SourceFile& file : files_) {
    if (file.path == "core/include/dragoman/core/hash_tables.h") continue;
    std::ifstream in(source_folder() / file.path);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      EXPECT_FALSE(std::regex_search(line, table))
          << file.path << ":" << number << ": use core::TextMap, TextSet, IntegerMap or IntegerSet";
    }
  }
}

TEST(OpenedFiles, EachKindIsFound) {
  for (const std::string line :
       {"FILE* f = std::fopen(name, \"w\");", "std::ofstream(path) << text;", "std::ofstream out(path);",
        "const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT);", "std::filesystem::copy_file(from, to);",
        "fs::copy(from, to, fs::copy_options::recursive);", "fs::rename(a, b);", "if (std::rename(a, b) != 0) return;",
        "::rename(a.c_str(), b.c_str());", "fs::resize_file(path, 0);", "::truncate(path.c_str(), 0);",
        "fs::permissions(path, all);", "fs::create_symlink(a, b);", "core::write_named_file(path, text);",
        "core::OutputFile output(path);", "std::optional<core::OutputFile> out_;",
        "auto out = std::make_unique<core::OutputFile>(path);"}) {
    std::istringstream source("int a;\n  " + line + "\n");
    const std::vector<Opening> found = openings_in("a.cpp", source);
    ASSERT_EQ(found.size(), 1u) << line;
    EXPECT_EQ(found.front().line, line);
  }
  for (const std::string line : {"// std::fopen(name)", "const SafetensorsFile file = SafetensorsFile::open(path);",
                                 "void write(OutputFile& out);", "core::write_file(path, text);",
                                 "core::rename_durably(a, b);", "memory_->copy(to, from, bytes);"}) {
    std::istringstream source(line + "\n");
    EXPECT_TRUE(openings_in("a.cpp", source).empty()) << line;
  }
}

TEST(OpenedFiles, AnExceptionIsOneOpeningAndNotAFile) {
  const std::vector<AllowedOpening> allowed = {{"a.cpp", "fopen(\"/proc/x\")", "of the kernel"}};
  const Opening one{"a.cpp", "f = std::fopen(\"/proc/x\");"};
  EXPECT_EQ(compare_openings({one}, allowed), std::vector<std::string>{});
  EXPECT_EQ(compare_openings({one, one}, allowed).size(), 1u) << "the same again";
  EXPECT_EQ(compare_openings({one, {"a.cpp", "std::fopen(name);"}}, allowed),
            std::vector<std::string>{"a.cpp: std::fopen(name);"});
  EXPECT_EQ(compare_openings({{"b.cpp", one.line}}, allowed).size(), 2u) << "another file, and nothing in this one";
}

}  // namespace
}  // namespace dragoman::testing
