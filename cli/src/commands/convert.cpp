#include "options/host_options.h"
#include "options/input_guard.h"
#include "options/tokenizer/tokenizer_options.h"
#include "program/command.h"

#include <filesystem>
#include <type_traits>
#include <variant>

#include <dragoman/core/error.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/imports/exports.h>
#include <dragoman/plugins/export_model.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::cli {
namespace {

/// As core::set_option(), but text is taken verbatim: "translate English to German: " is not a key without a value, and
/// its trailing space is meant.
void set_import_option(core::Json& options, const std::string& word) {
  core::Json one = core::Json::object();
  core::set_option(one, word, "--import-options ");
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
  const bool marked = !value.empty() && std::string_view("[{\"'").find(value.front()) != std::string_view::npos;
  const auto found = one.find(key);
  if (found != one.end() && !marked && (found->is_string() || found->is_structured())) *found = value;
  options.merge_patch(one);
}

namespace po = boost::program_options;
using tokenizer::FileKind;

/// Returns the kind that a file name implies.
FileKind kind_of_output(const std::string& path) {
  const auto kind = tokenizer::file_kind_of_name(path);
  if (!kind)
    throw UsageError("--output " + path + ": the name does not say which kind of file to write; give it with --to");
  return *kind;
}

/// Returns "ctranslate2, marian-npz or huggingface".
std::string export_names() {
  const auto& formats = imports::export_formats();
  std::string names;
  for (std::size_t i = 0; i < formats.size(); ++i)
    names.append(i == 0 ? "" : i + 1 == formats.size() ? " or " : ", ").append(formats[i].name);
  return names;
}

class Convert final : public Command {
 public:
  std::string_view name() const override { return "convert"; }
  std::string_view summary() const override {
    return "convert a tokenizer file to another format, or import or export a model";
  }
  std::string_view examples() const override {
    return "dragoman convert sentencepiece.model --output tokenizer.json\n"
           "dragoman convert codes --vocabulary vocab.txt --output tokenizer.json\n"
           "dragoman convert opus-mt-de-en --output models/de-en\n"
           "dragoman convert models/de-en --to ctranslate2 --output de-en-ct2\n"
           "dragoman convert arrays --plugin example --from numpy-arrays --output models/mine\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("input,i", po::value(&input_)->required()->value_name("FILE"),
         "required: tokenizer.json, codes of subword-nmt or fastBPE, vocab.json next to merges.txt, a SentencePiece "
         ".model, a tiktoken rank file, a model of YouTokenToMe; or a model of another toolkit (`plugins list` shows "
         "the importers), or a model folder")  //
        ("output,o", po::value(&output_)->required()->value_name("FILE"),
         "required: the output file, whose format follows from .json, vocab.json, .model, .tiktoken or .codes; for a "
         "model, a folder")  //
        ("from", po::value(&from_)->value_name("KIND"),
         "format of the input (default: recognised by content): tokenizer-json, subword-nmt, fastbpe, gpt2, "
         "sentencepiece, tiktoken, youtokentome, or the name of a model importer")  //
        ("to", po::value(&to_)->value_name("KIND"),
         fmt::format("format of the output: for a tokenizer, a format of --from except fastbpe; for a model, {}",
                     export_names())
             .c_str())("import-options", po::value(&import_options_)->composing()->value_name("KEY=VALUE"),
                       "option for the importer of a model (may be repeated)");
    add_host_options(options, host_options_);
    tokenizer_options_.add_to(options);
  }
  std::vector<std::string> positional() const override { return {"input"}; }

  void run(const Session& session) override {
    core::require(input_ == "-" || std::filesystem::exists(input_), core::ErrorCode::kIo,
                  "{}: there is no such file or folder", input_);
    plugins::Host host(host_options_);
    if (imports::find_export_format(to_) != nullptr)
      export_model(host, session);
    else if (!to_.empty() && formats::is_model_folder(input_))
      throw UsageError(fmt::format("--to {}: a model folder is exported to {}", to_, export_names()));
    else if (is_model(host.registry()))
      import_model(host, session);
    else
      convert_tokenizer(host.registry(), session);
  }

 private:
  bool is_model(const plugins::Registry& registry) const {
    const bool named = registry.model_importers().find(from_) != nullptr;
    // The importers decide about folders.
    return named || std::filesystem::is_directory(input_) ||
           (from_.empty() && plugins::find_importer(registry, input_) != nullptr);
  }

  void import_model(plugins::Host& host, const Session& session) const {
    if (!to_.empty() || tokenizer_options_.any())
      throw UsageError("--to, --separator, --pattern and the like are for tokenizers, and this is a model");
    plugins::ImportOptions options{.importer = from_, .stop = session.stop, .log = session.log};
    for (const std::string& word : import_options_) set_import_option(options.options, word);
    require_not_an_input(output_, {input_});
    plugins::import_model(input_, output_, host, options);
    core::log(session.log, core::LogLevel::kInfo, fmt::format("{}: the model of {}", output_, input_));
  }

  void export_model(plugins::Host& host, const Session& session) const {
    if (!from_.empty() || !import_options_.empty() || tokenizer_options_.any())
      throw UsageError("--to " + to_ +
                       " writes a model for another toolkit, so --from, --import-options and the "
                       "options of tokenizers say nothing");
    require_not_an_input(output_, {input_});
    plugins::export_model(input_, output_, to_, host);
    core::log(session.log, core::LogLevel::kInfo, fmt::format("{}: {}, as {}", output_, input_, to_));
  }

  void convert_tokenizer(const plugins::Registry& registry, const Session& session) const {
    if (!import_options_.empty()) throw UsageError("--import-options are for a model of another toolkit");
    require_not_an_input(output_, {input_, tokenizer_options_.vocabulary(), tokenizer_options_.dictionary()});
    core::require_not_in_the_way(input_, output_);
    // Report errors of the input before errors of the output.
    if (from_.empty()) plugins::explain_unrecognised(registry, input_);
    tokenizer::ReadOptions read = tokenizer_options_.read_options(from_);
    read.log = session.log;
    const auto definition = tokenizer::read_any_tokenizer_file(input_, read);
    const FileKind kind = to_.empty() ? kind_of_output(output_) : TokenizerOptions::file_kind(to_, "--to");
    std::visit([&](const auto& each) { write(each, kind, session); }, definition);
  }

  template <class Definition>
  void write(const Definition& definition, FileKind kind, const Session& session) const {
    constexpr bool kMerges = std::is_same_v<Definition, tokenizer::BpeDefinition>;
    using Tokenizer = std::conditional_t<kMerges, tokenizer::BpeTokenizer, tokenizer::UnigramTokenizer>;
    const Tokenizer checked(definition, input_);
    tokenizer::write_tokenizer_file(definition, kind, output_);
    if (const std::string difference = tokenizer::difference_when_written(definition, kind); !difference.empty())
      core::log(session.log, core::LogLevel::kWarning, fmt::format("{}: {}", output_, difference));
    std::string written = fmt::format("{}: {}, {} pieces", output_, tokenizer::name_of(kind), checked.size());
    if constexpr (kMerges) written += fmt::format(", {} merges", definition.merges.size());
    core::log(session.log, core::LogLevel::kInfo, written);
  }

  TokenizerOptions tokenizer_options_;
  plugins::HostOptions host_options_;
  std::vector<std::string> import_options_;
  std::string input_;
  std::string output_;
  std::string from_;
  std::string to_;
};

}  // namespace

std::unique_ptr<Command> make_convert() {
  return std::make_unique<Convert>();
}

}  // namespace dragoman::cli
