#include "checks.h"
#include "extension_checks.h"

#include <algorithm>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::plugins {
namespace {

using std::filesystem::path;

/// The example of an importer in a separate folder, which is removed with the object.
class ImporterBench {
 public:
  ImporterBench(Host& host, const ModelImporterEntry& entry, const path& scratch)
      : host_(&host), entry_(&entry), folder_(core::unused_name(scratch / "importer")) {
    core::make_folder(folder_ / "example");
    example_ = entry.write_example(folder_ / "example");
  }
  ImporterBench(const ImporterBench&) = delete;
  ImporterBench& operator=(const ImporterBench&) = delete;
  ~ImporterBench() { core::remove_folder(folder_); }

  const ModelImporterEntry& entry() const { return *entry_; }
  const path& example() const { return example_; }
  path imported() const { return folder_ / "imported"; }
  /// A path in the folder that is not a model.
  path other(const std::string& name) const { return folder_ / name; }

  void import() const { import_model(example_, imported(), *host_, {.importer = entry_->name}); }
  LoadedModel load() const { return load_model(imported(), *host_); }
  /// The files of the example.
  std::vector<path> files() const {
    std::vector<path> files;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_ / "example"))
      if (file.is_regular_file()) files.push_back(file.path());
    std::ranges::sort(files);
    return files;
  }

 private:
  Host* host_;
  const ModelImporterEntry* entry_;
  path folder_;
  path example_;
};

Finding check_recognition(const ImporterBench& bench) {
  if (!bench.entry().recognises(bench.example())) return {false, "does not recognise its own example"};
  core::make_folder(bench.other("empty"));
  core::write_file(bench.other("text"), "Ein Satz.\n");
  core::write_file(bench.other("nothing"), "");
  bench.import();
  for (const path& other :
       {bench.other("empty"), bench.other("text"), bench.other("nothing"), bench.other("missing"), bench.imported()})
    if (bench.entry().recognises(other))
      return {false, fmt::format("recognises {}, which is none of its models", other.filename().string())};
  return {true, "its example; no empty folder, no text, no model folder"};
}

Finding check_import(const ImporterBench& bench) {
  bench.import();
  const std::string first = core::read_file(bench.imported() / formats::ModelFiles::kWeights);
  const LoadedModel loaded = bench.load();
  core::remove_folder(bench.imported());
  bench.import();
  if (core::read_file(bench.imported() / formats::ModelFiles::kWeights) != first)
    return {false, "the weights are others the second time"};
  return {true, fmt::format("a model folder of {} values that opens, the same each time",
                            loaded.model->parameters().count())};
}

/// Returns the fault in the handling of a damaged example; empty if there is none. Counts rejections in `refused`.
std::string complaint_about_damage(const ImporterBench& bench, std::size_t& refused) {
  core::remove_folder(bench.imported());
  try {
    bench.import();
    return {};
  } catch (const core::Error& error) {
    // A failing disk is not a fault of the importer.
    if (error.code() == core::ErrorCode::kIo && std::string_view(error.what()).starts_with(bench.imported().string()))
      throw;
    ++refused;
    if (error.code() == core::ErrorCode::kInternal) return fmt::format("an error of the program: {}", error.what());
    if (std::filesystem::exists(bench.imported())) return "leaves a folder behind, though it refuses the model";
    return {};
  } catch (const std::exception& error) {
    return fmt::format("threw what is no core::Error: {}", error.what());
  }
}

/// Truncates and changes the files of the example at several positions, one file at a time.
Finding check_damaged_models(const ImporterBench& bench) {
  constexpr std::size_t kTried = 96;
  const std::vector<path> files = bench.files();
  const std::size_t places = std::max<std::size_t>(1, kTried / 2 / std::max<std::size_t>(1, files.size()));
  std::size_t refused = 0;
  std::size_t tried = 0;
  for (const path& file : files) {
    // Reads the file as it is, compressed or not.
    const std::string whole = core::read_beginning(file, std::filesystem::file_size(file));
    const std::size_t step = std::max<std::size_t>(1, whole.size() / places);
    for (std::size_t at = step / 2; at < whole.size() && tried < 2 * kTried; at += step) {
      std::string changed = whole;
      changed[at] = static_cast<char>(~changed[at]);
      for (const std::string& content : {whole.substr(0, at), changed}) {
        core::write_file(file, content);
        ++tried;
        if (const std::string complaint = complaint_about_damage(bench, refused); !complaint.empty())
          return {false, fmt::format("{}, {} at byte {}: {}", file.filename().string(),
                                     content.size() < whole.size() ? "cut" : "changed", at, complaint)};
      }
    }
    core::write_file(file, whole);
  }
  return {refused > 0, fmt::format("of {} damaged models {} are refused, never worse", tried, refused)};
}

}  // namespace

std::vector<Verdict> check_model_importer(Host& host, const ModelImporterEntry& entry, const path& scratch) {
  if (!entry.write_example) return {{entry.name, "-", "import", false, "the entry has no example; write a small one"}};
  const std::pair<const char*, Finding (*)(const ImporterBench&)> checks[] = {
      {"recognition", check_recognition}, {"import", check_import}, {"damaged-files", check_damaged_models}};
  std::vector<Verdict> verdicts;
  for (const auto& [check, run] : checks) {
    Finding finding;
    try {
      finding = run(ImporterBench(host, entry, scratch));
    } catch (const std::exception& error) {
      finding = {false, fmt::format("threw: {}", error.what())};
    }
    verdicts.push_back({entry.name, "-", check, finding.passed, finding.detail});
  }
  return verdicts;
}

}  // namespace dragoman::plugins
