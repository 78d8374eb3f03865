#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::plugins {

/// What a model folder says of a model beside its weights.
struct ModelDescription {
  std::string model_type;  ///< a registered one
  std::string plugin{};    ///< what brings the type, if that has to be loaded first
  nn::SequenceSpec sequences{};
  core::Json model = core::Json::object();  ///< the type's own configuration
  /// The joint one, or both of the others; of any registered kind. What brings the kind has to be named only if it is
  /// to be loaded first.
  formats::TokenizerContent tokenizer{};
  formats::TokenizerContent source_tokenizer{};
  formats::TokenizerContent target_tokenizer{};
  std::string card{};  ///< where the model comes from, its licence
  /// How the files say that the model is searched: ModelConfig::decoding.
  core::Json decoding = core::Json::object();
  std::string shortlist{};  ///< in the binary form, if `decoding` names it
  formats::LanguageTable languages{};
  /// What the files ask for and cannot be followed, each with file and key: for whoever imports the model.
  std::vector<std::string> warnings{};
};

/// A model in the files of another toolkit, opened. Its files come from outside: whatever is wrong in them is an
/// Error{kBadInput} that names the file, the place and the reason. One thread at a time.
class ForeignModel {
 public:
  virtual ~ForeignModel();
  virtual ModelDescription describe() const = 0;
  /// Called before memory is taken for values: throws if the files lack a parameter of the model that was described, or
  /// have it in another shape. An importer whose constructor has seen to that does nothing.
  virtual void check(const nn::ParameterStore& parameters) const = 0;
  /// Writes the values of a parameter to `out`: host memory, F32, contiguous, of the parameter's rows and columns.
  /// Called once for each parameter of the model that was described, in the model's order.
  virtual void read(const nn::Parameter& parameter, const tensor::Tensor& out) = 0;
  /// Called when every parameter was read. Throws if the files hold values that none of them took: a model that is
  /// almost the one that was described would translate, but wrongly.
  virtual void finish() = 0;
};

/// Opens a file or a folder. `own` are the options that belong to this importer alone; the caller finish()es it.
using ModelImporterFactory =
    std::function<std::unique_ptr<ForeignModel>(const std::filesystem::path& path, core::OptionReader& own)>;

struct ModelImporterEntry {
  std::string name;  ///< what `convert --from` calls it
  std::string summary;
  ModelImporterFactory make;
  /// Whether the file or folder looks like one that this importer opens: by names and first bytes, since it is asked of
  /// everything. Model folders of Dragoman's own are none.
  std::function<bool(const std::filesystem::path& path)> recognises;
  /// Writes a small model into an empty folder and returns what make() is to open: that folder, or a file in it. For
  /// the conformance kit.
  std::function<std::filesystem::path(const std::filesystem::path& folder)> write_example;
  /// Of what recognises() turned down, though it looks as if it were meant for this importer: why. Empty: it does not
  /// look so. It may be left out.
  std::function<std::string(const std::filesystem::path& path)> why_not{};
};

}  // namespace dragoman::plugins
