#include "options/input_guard.h"
#include "options/tokenizer_options.h"
#include "program/command.h"

#include <filesystem>

#include <dragoman/core/folder.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using tokenizer::FileKind;

/// The kind that a name asks for.
FileKind kind_of_output(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.ends_with("vocab.json")) return FileKind::kGpt2;
  if (name.ends_with(".json")) return FileKind::kTokenizerJson;
  if (name.ends_with(".model")) return FileKind::kSentencePiece;
  if (name.ends_with(".tiktoken")) return FileKind::kTiktoken;
  if (name.ends_with(".codes") || name.ends_with(".bpe")) return FileKind::kSubwordNmt;
  throw UsageError("--output " + path + ": the name does not say which kind of file to write; give it with --to");
}

class Convert final : public Command {
 public:
  std::string_view name() const override { return "convert"; }
  std::string_view summary() const override { return "turn a tokenizer file into one of another kind"; }
  std::string_view examples() const override {
    return "dragoman convert sentencepiece.model --output tokenizer.json\n"
           "dragoman convert codes --vocabulary vocab.txt --output tokenizer.json\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("input,i", po::value(&input_)->required()->value_name("FILE"),
         "tokenizer.json, codes of subword-nmt or fastBPE, vocab.json with merges.txt beside it, a SentencePiece "
         ".model of type BPE, a tiktoken rank file, a model of YouTokenToMe")  //
        ("output,o", po::value(&output_)->required()->value_name("FILE"),
         "where to write; .json, vocab.json, .model, .tiktoken and .codes say the kind")  //
        ("from", po::value(&from_)->value_name("KIND"),
         "of the input, if it is not to be recognised: tokenizer-json, subword-nmt, fastbpe, gpt2, sentencepiece, "
         "tiktoken, youtokentome")  //
        ("to", po::value(&to_)->value_name("KIND"), "of the output; not fastbpe, not youtokentome");
    tokenizer_options_.add_to(options);
  }
  std::vector<std::string> positional() const override { return {"input"}; }

  void run(const Session& session) override {
    const FileKind kind = to_.empty() ? kind_of_output(output_) : TokenizerOptions::file_kind(to_, "--to");
    require_not_an_input(output_, {input_, tokenizer_options_.vocabulary(), tokenizer_options_.dictionary()});
    core::require_not_in_the_way(input_, output_);
    const auto definition = tokenizer::read_tokenizer_file(input_, tokenizer_options_.read_options(from_));
    const tokenizer::BpeTokenizer checked(definition, input_);
    tokenizer::write_tokenizer_file(definition, kind, output_);
    if (tokenizer::loses_mark_escape(definition, kind))
      core::log(
          session.log, core::LogLevel::kWarning,
          fmt::format("{}: SentencePiece has no escape for U+2581: where a text holds that character, it comes back "
                      "as a space",
                      output_));
    core::log(session.log, core::LogLevel::kInfo,
              fmt::format("{}: {}, {} pieces, {} merges", output_, tokenizer::name_of(kind), checked.size(),
                          definition.merges.size()));
  }

 private:
  TokenizerOptions tokenizer_options_;
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
