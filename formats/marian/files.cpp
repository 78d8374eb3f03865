#include "marian/files.h"

#include "marian/model_file.h"
#include "tokens/plain_file.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/yaml.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Quoted;
using std::filesystem::path;

constexpr std::uint64_t kLongestConfiguration = std::uint64_t{1} << 20;

bool is_yaml(const path& file) {
  return file.extension() == ".yml" || file.extension() == ".yaml";
}

bool is_vocabulary(const path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".spm") ||
         ((is_yaml(file) || name.ends_with(".json")) && name.find("voc") != std::string::npos);
}

/// Returns the files of a folder for which `holds` is true, sorted by name; none if it cannot be listed.
template <class Predicate>
std::vector<path> files_where(const path& folder, Predicate holds) {
  std::vector<path> found;
  for (const path& file : core::list_folder(folder))
    if (is_file(file) && holds(file)) found.push_back(file);
  return found;
}

bool is_configuration(const path& file) {
  const std::string name = file.filename().string();
  return is_yaml(file) && (name.ends_with("decoder.yml") || name.starts_with("config") || name == "decoder.yaml");
}

/// Returns the configuration of marian-decoder in a folder, recognised by its name.
path find_configuration(const path& folder) {
  const auto found = files_where(folder, is_configuration);
  return found.empty() ? path() : found.front();
}

/// Returns the list of a key. A single value counts as a list of one.
std::vector<core::Json> list_of(const core::Json& value) {
  if (value.is_null()) return {};
  if (!value.is_array()) return {value};
  return value.get<std::vector<core::Json>>();
}

class Finder {
 public:
  explicit Finder(const path& from, core::OptionReader& own) : from_(from), own_(own) {}

  MarianFiles find() {
    path configuration;
    if (std::filesystem::is_directory(from_)) {
      folder_ = from_;
      configuration = find_configuration(folder_);
      for (const path& entry : core::list_folder(folder_))
        if (is_configuration(entry)) is_file_if_there(entry);  // throws unless it is a file
    } else {
      folder_ = from_.parent_path();
      if (is_yaml(from_))
        configuration = from_;
      else
        files_.model = from_;
      if (configuration.empty() && is_file(from_.string() + ".decoder.yml"))
        configuration = from_.string() + ".decoder.yml";
    }
    files_.decoding["suppress_unknown"] = true;  // Marian's default
    if (!configuration.empty()) read_configuration(configuration);
    if (files_.model.empty()) find_model();
    read_options();
    if (files_.source_vocabulary.empty()) find_vocabularies();
    return std::move(files_);
  }

 private:
  path text_as_path(const core::Json& value, const std::string& where) const {
    core::require(value.is_string() && !value.get_ref<const std::string&>().empty(), ErrorCode::kBadInput,
                  "{}: expected the name of a file", where);
    const path named = value.get<std::string>();
    // Models are moved, while their configurations contain the original paths. A foreign configuration must not name a
    // file outside the folder.
    const bool stays = named.is_relative() && *named.lexically_normal().begin() != "..";
    for (const path& place : {folder_ / (stays ? named : named.filename()), folder_ / named.filename()})
      if (is_file(place)) return place;
    core::fail(ErrorCode::kIo, "{}: there is no file {} beside it", where, core::quote(named.string()));
  }

  void read_configuration(const path& file) {
    const std::string name = file.string();
    const core::Json yaml = core::parse_yaml(core::read_regular_file(file, kLongestConfiguration), name);
    core::OptionReader reader(yaml, name);  // other keys are not about the model
    const auto models = list_of(reader.subtree("models"));
    core::require(
        models.size() <= 1, ErrorCode::kUnsupported,
        "{}: is an ensemble of {} models; convert each .npz by itself, and translate with them as an ensemble", name,
        models.size());
    if (!models.empty() && files_.model.empty()) files_.model = text_as_path(models.front(), name + ": models");
    const auto vocabularies = list_of(reader.subtree("vocabs"));
    core::require(vocabularies.empty() || vocabularies.size() == 2, ErrorCode::kUnsupported,
                  "{}: has {} vocabularies; models of one source and one target are read", name, vocabularies.size());
    if (!vocabularies.empty()) {
      files_.source_vocabulary = text_as_path(vocabularies.front(), name + ": vocabs");
      files_.target_vocabulary = text_as_path(vocabularies.back(), name + ": vocabs");
    }
    read_search(reader);
    read_shortlist(list_of(reader.subtree("shortlist")), name + ": shortlist");
  }

  void read_search(core::OptionReader& reader) {
    if (reader.has("beam-size")) {
      const core::Json& beam = reader.subtree("beam-size");
      reader.check(beam.is_number_integer() && beam >= 1 && beam <= decoding::kMaxHypothesesOfFolder, "beam-size",
                   fmt::format("is {}; it must be a whole number in 1 .. {}", core::one_line(beam),
                               decoding::kMaxHypothesesOfFolder));
      files_.decoding["beam_size"] = beam;
    }
    const core::Json& normalize = reader.subtree("normalize");
    constexpr double kMaxNormalization = 100;
    reader.check(normalize.is_null() || normalize.is_number() || normalize.is_boolean(), "normalize",
                 fmt::format("is {}; it must be a number", core::one_line(normalize)));
    if (normalize.is_number())
      reader.check(normalize.get<double>() >= 0 && normalize.get<double>() <= kMaxNormalization, "normalize",
                   fmt::format("is {}; it must be a number in 0 .. {}", core::one_line(normalize), kMaxNormalization));
    if (normalize.is_number() || normalize.is_boolean()) {
      files_.decoding["length_penalty"] = "marian";
      files_.decoding["alpha"] = normalize.is_boolean() ? (normalize.get<bool>() ? 1.0 : 0.0) : normalize.get<double>();
    }
    const core::Json& unknown = reader.subtree("allow-unk");
    if (unknown.is_boolean()) files_.decoding["suppress_unknown"] = !unknown.get<bool>();
  }

  void read_shortlist(const std::vector<core::Json>& words, const std::string& where) {
    if (words.empty()) return;
    files_.shortlist = text_as_path(words.front(), where);
    const auto number = [&](std::size_t at, std::int32_t& limit) {
      if (words.size() <= at || words[at].is_boolean()) return;
      core::require(words[at].is_number_integer() && words[at] >= 0 && words[at] < 1 << 24, ErrorCode::kBadInput,
                    "{}: expected a file and two numbers", where);
      limit = words[at].get<std::int32_t>();
    };
    number(1, files_.shortlist_limits.first);
    number(2, files_.shortlist_limits.best);
  }

  void find_model() {
    const auto models = files_where(folder_, [](const path& file) {
      return (file.extension() == ".npz" || file.extension() == ".bin") && MarianFile::recognises(file);
    });
    core::require(models.size() == 1, ErrorCode::kInvalidArgument,
                  "{}: holds {} models of Marian; name the one that is meant", folder_.string(), models.size());
    files_.model = models.front();
  }

  void read_options() {
    const std::string both = own_.get("vocabulary", "");
    if (!both.empty()) files_.source_vocabulary = files_.target_vocabulary = both;
    const std::string source = own_.get("source_vocabulary", "");
    const std::string target = own_.get("target_vocabulary", "");
    core::require(source.empty() == target.empty(), ErrorCode::kInvalidArgument,
                  "options of the importer marian: source_vocabulary and target_vocabulary go together");
    if (!source.empty()) {
      files_.source_vocabulary = source;
      files_.target_vocabulary = target;
    }
    const std::string shortlist = own_.get("shortlist", "");
    if (!shortlist.empty()) files_.shortlist = shortlist;
  }

  void find_vocabularies() {
    const path folder = folder_.empty() ? path(".") : folder_;
    // Pairs of SentencePiece models next to a list of ids only segment text.
    const auto is_list = [](const path& file) { return is_vocabulary(file) && file.extension() != ".spm"; };
    auto found = files_where(folder, is_list);
    if (found.empty()) found = files_where(folder, is_vocabulary);
    const auto of_side = [&](std::initializer_list<const char*> marks) {
      std::vector<path> side;
      for (const path& file : found)
        if (std::ranges::any_of(marks, [name = file.filename().string()](const char* mark) {
              return name.find(mark) != std::string::npos;
            }))
          side.push_back(file);
      return side;
    };
    if (found.size() == 2) {
      const auto source = of_side({"src", "source"});
      const auto target = of_side({"trg", "tgt", "target"});
      if (source.size() == 1 && target.size() == 1) {
        files_.source_vocabulary = source.front();
        files_.target_vocabulary = target.front();
        return;
      }
    }
    core::require(found.size() == 1, ErrorCode::kInvalidArgument,
                  "{}: holds {} vocabularies (.spm, vocab.yml); name them to the importer: vocabulary=FILE, or "
                  "source_vocabulary=FILE and target_vocabulary=FILE",
                  folder.string(), found.size());
    files_.source_vocabulary = files_.target_vocabulary = found.front();
  }

  const path& from_;
  core::OptionReader& own_;
  path folder_;
  MarianFiles files_;
};

bool names_a_model(const path& configuration) {
  try {
    const std::string text = core::read_beginning(configuration, kLongestConfiguration);
    return text.find("models:") != std::string::npos && text.find("vocabs:") != std::string::npos;
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace

MarianFiles find_marian_files(const path& from, core::OptionReader& own) {
  return Finder(from, own).find();
}

bool is_marian_model(const path& from) {
  std::error_code ignored;
  if (is_file(from)) return is_yaml(from) ? names_a_model(from) : MarianFile::recognises(from);
  if (!std::filesystem::is_directory(from, ignored) || formats::is_model_folder(from)) return false;
  try {
    const path configuration = find_configuration(from);
    if (!configuration.empty() && names_a_model(configuration)) return true;
    return !files_where(from, [](const path& file) {
              return (file.extension() == ".npz" || file.extension() == ".bin") && MarianFile::recognises(file);
            }).empty();
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace dragoman::imports
