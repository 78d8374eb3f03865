#include "options/host_options.h"
#include "options/tokenizer/tokenizer_options.h"
#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/yaml.h>
#include <dragoman/plugins/convert.h>

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
                     plugins::list_export_formats())
             .c_str())("import-options", po::value(&import_options_)->composing()->value_name("KEY=VALUE"),
                       "option for the importer of a model (may be repeated)");
    add_host_options(options, host_options_);
    tokenizer_options_.add_to(options);
  }
  std::vector<std::string> positional() const override { return {"input"}; }

  void run(const Session& session) override {
    plugins::Host host(host_options_);
    plugins::ConvertOptions options{.from = from_,
                                    .to = to_,
                                    .reading = tokenizer_options_.read_options(),
                                    .stop = session.stop,
                                    .log = session.log};
    for (const std::string& word : import_options_) set_import_option(options.import_options, word);
    try {
      plugins::convert(input_, output_, host, options);
    } catch (const core::OptionError& error) {
      if (error.code() != core::ErrorCode::kInvalidArgument) throw;
      throw UsageError(error, "convert");
    }
  }

 private:
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
