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

/// The tokenizers of both sides: one object if they are the same.
struct OpenedTokenizers {
  std::shared_ptr<const tokenizer::Tokenizer> source{};
  std::shared_ptr<const tokenizer::Tokenizer> target{};
};

/// An open model in files: the one interface through which models are read (load, import, export, quantize, average,
/// inspect, verify). A model folder is one implementation, ModelFolder; each importer of another toolkit's files has
/// another. No value of a parameter is read before load() or read() is called.
///
/// The files come from outside: any fault in them is an Error{kBadInput} that names the file, the place and the reason.
/// The const functions and load() are thread-safe; read() and finish() are called by one thread at a time.
class OpenedModel {
 public:
  OpenedModel() = default;
  OpenedModel(const OpenedModel&) = delete;
  OpenedModel& operator=(const OpenedModel&) = delete;
  virtual ~OpenedModel();

  /// The file or folder.
  virtual const std::filesystem::path& path() const noexcept = 0;
  virtual const ModelConfig& config() const noexcept = 0;
  /// Whether this is a model folder of Dragoman's own, so a ModelFolder.
  virtual bool is_model_folder() const noexcept { return false; }
  /// The contents of the tokenizers' files, of any registered kind.
  virtual ModelTokenizers tokenizers() const = 0;
  /// Makes the tokenizers. Error{kBadInput} if they do not fit the configuration; also throws what `opener` throws.
  virtual OpenedTokenizers open_tokenizers(const TokenizerOpener& opener) const;
  /// The text of the model card: where the model comes from, its licence.
  virtual std::string card() const = 0;
  /// The content of the model's own shortlist in the binary form; empty unless config().decoding names it.
  virtual std::string shortlist() const = 0;
  /// Returns the settings in the files that cannot be followed, each with its file and key.
  virtual std::vector<std::string> warnings() const { return {}; }

  /// Throws if the files lack a parameter of the model, or have it in another shape. Called before memory is allocated
  /// for values.
  virtual void check(const nn::ParameterStore& parameters) const = 0;
  /// Writes the values of a parameter to `out`: host memory, F32, contiguous, of the parameter's rows and columns.
  /// Called once for each parameter, in the model's order; then all of it may be repeated.
  virtual void read(const nn::Parameter& parameter, const tensor::Tensor& out) = 0;
  /// Called when every parameter was read. Throws if the files contain values that no parameter has taken: a model that
  /// is almost the described one would translate, but wrongly.
  virtual void finish() = 0;

  /// Sets the values of `model`, which was made from config(), to the values of the files; see LoadOptions. Calls
  /// check() first.
  void load(nn::Seq2SeqModel& model, const LoadOptions& options = {.memory = WeightMemory::kMapped});

 protected:
  /// For implementations that are moved before they are shared.
  OpenedModel(OpenedModel&& /*other*/) noexcept {}

 private:
  /// Reads parameter after parameter into memory that the model owns.
  virtual void load_values(nn::Seq2SeqModel& model, const LoadOptions& options);

  std::mutex loading_;
};

/// All of a model but the values of its parameters.
struct ModelContents {
  ModelConfig config{};
  ModelTokenizers tokenizers{};
  std::string card{};
  std::string shortlist{};
  std::vector<std::string> warnings{};
};

/// A model of another toolkit whose importer has found out all but the values when it has opened the files.
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
