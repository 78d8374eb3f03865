#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <dragoman/formats/model_config.h>
#include <dragoman/formats/parameters.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::formats {

/// The tokenizers of both sides. They are the same object if the model has one joint tokenizer.
struct OpenedTokenizers {
  std::shared_ptr<const tokenizer::Tokenizer> source{};
  std::shared_ptr<const tokenizer::Tokenizer> target{};
};

/// An open model in files: the interface through which models are read (load, import, export, quantize, average,
/// inspect, verify). ModelFolder is the implementation for model folders, and each importer has one for the files of
/// its toolkit. No value of a parameter is read before load() or read() is called.
///
///     ModelFolder folder("models/de-en");                          // model_folder.h
///     OpenedModel& opened = folder;
///     const OpenedTokenizers tokenizers = opened.open_tokenizers(open_built_in_tokenizer);
///     std::cout << opened.config().model_type << ' ' << tokenizers.source->size();
///
/// The files come from outside: any fault in them is an Error{kBadInput} that names the file, the place and the reason.
/// The const functions and load() are thread-safe. read() and finish() may be called by one thread at a time.
class OpenedModel {
 public:
  OpenedModel() = default;
  OpenedModel(const OpenedModel&) = delete;
  OpenedModel& operator=(const OpenedModel&) = delete;
  virtual ~OpenedModel();

  /// Returns the path of the file or folder.
  virtual const std::filesystem::path& path() const noexcept = 0;
  virtual const ModelConfig& config() const noexcept = 0;
  /// Returns whether this is a ModelFolder, i.e. one of Dragoman's own model folders.
  virtual bool is_model_folder() const noexcept { return false; }
  /// Returns the contents of the tokenizers' files, which may be of any registered kind.
  virtual ModelTokenizers tokenizers() const = 0;
  /// Creates the tokenizers. Throws Error{kBadInput} if they do not fit the configuration, and the errors of `opener`.
  virtual OpenedTokenizers open_tokenizers(const TokenizerOpener& opener) const;
  /// Returns the text of the model card, with the origin of the model and its licence.
  virtual std::string card() const = 0;
  /// Returns the content of the model's own shortlist in binary form; empty unless config().decoding names it.
  virtual std::string shortlist() const = 0;
  /// Returns the settings in the files that Dragoman cannot apply, each with its file and key.
  virtual std::vector<std::string> warnings() const { return {}; }

  /// Throws if the files lack a parameter of the model, or have it in another shape. Called before memory is allocated
  /// for values.
  virtual void check(const nn::ParameterStore& parameters) const = 0;
  /// Writes the values of a parameter to `out`: contiguous host memory in F32, of the parameter's rows and columns.
  /// Called once for each parameter, in the model's order. The whole sequence may be repeated.
  virtual void read(const nn::Parameter& parameter, const tensor::Tensor& out) = 0;
  /// Called after every parameter was read. Throws if the files contain values that no parameter has used, because a
  /// model that differs slightly from the described one would produce wrong translations.
  virtual void finish() = 0;

  /// Sets the values of `model`, which was created from config(), to the values in the files; see LoadOptions. Calls
  /// check() first.
  void load(nn::Seq2SeqModel& model, const LoadOptions& options = {.memory = WeightMemory::kMapped});

 protected:
  /// For implementations that are moved before they are shared.
  OpenedModel(OpenedModel&& /*other*/) noexcept {}

 private:
  /// Reads the parameters one after the other into memory that the model owns.
  virtual void load_values(nn::Seq2SeqModel& model, const LoadOptions& options);

  std::mutex loading_;
};

/// A model without the values of its parameters.
struct ModelContents {
  ModelConfig config{};
  ModelTokenizers tokenizers{};
  std::string card{};
  std::string shortlist{};
  std::vector<std::string> warnings{};
};

/// A model of another toolkit whose importer has determined everything except the values when it opened the files.
class ImportedModel : public OpenedModel {
 public:
  ImportedModel(std::filesystem::path path, ModelContents contents)
      : path_(std::move(path)), contents_(std::move(contents)) {}

  const std::filesystem::path& path() const noexcept final { return path_; }
  const ModelConfig& config() const noexcept final { return contents_.config; }
  ModelTokenizers tokenizers() const final { return contents_.tokenizers; }
  std::string card() const final { return contents_.card; }
  std::string shortlist() const final { return contents_.shortlist; }
  std::vector<std::string> warnings() const final { return contents_.warnings; }

 private:
  std::filesystem::path path_;
  ModelContents contents_;
};

}  // namespace dragoman::formats
