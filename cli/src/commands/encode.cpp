#include "options/line_format.h"
#include "options/number_option.h"
#include "options/tokenizer/invalid_utf8_option.h"
#include "options/tokenizer/tokenizer_kind_options.h"
#include "options/tokenizer/tokenizer_options.h"
#include "program/command.h"

#include <optional>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/tokenizer/encoding_modes.h>
#include <dragoman/tokenizer/line_coding.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

tokenizer::EncodingMode encoding_mode(const std::string& word) {
  if (word == "exact") return tokenizer::EncodingMode::kExact;
  if (word == "greedy") return tokenizer::EncodingMode::kGreedy;
  if (word == "dropout") return tokenizer::EncodingMode::kDropout;
  throw UsageError("--mode " + word + ": must be exact, greedy or dropout");
}

class Encode final : public Command {
 public:
  std::string_view name() const override { return "encode"; }
  std::string_view summary() const override { return "convert lines of text to pieces or ids"; }
  std::string_view examples() const override {
    return "dragoman encode --tokenizer tokenizer.json corpus.txt --output corpus.pieces\n"
           "dragoman encode --tokenizer tokenizer.json --format ids corpus.txt --output corpus.ids\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("tokenizer,t", po::value(&tokenizer_)->required()->value_name("FILE"),
         "required: tokenizer.json, another format that `convert` reads, or the format of --tokenizer-type")  //
        ("input,i", po::value(&input_)->default_value("-")->value_name("FILE"), "text; - is standard input")  //
        ("output,o", po::value(&output_)->default_value("-")->value_name("FILE"), "- is standard output")     //
        ("format", po::value(&format_)->default_value("pieces")->value_name("FORMAT"),
         "pieces, ids, or json: pieces and ids, with the bytes of the line that each one covers")  //
        ("mode", po::value(&mode_)->default_value("exact")->value_name("MODE"),
         "exact (merge order), greedy (longest match) or dropout (seeded BPE-dropout)")  //
        ("dropout", real_number("--dropout", dropout_, {.least = 0, .most = 1})->value_name("P"),
         "with --mode dropout: probability that a merge is skipped (default: 0.1)")  //
        ("seed", whole_number("--seed", coding_.encode.seed, std::uint64_t{0})->default_value("0")->value_name("N"),
         "seed of random segmentations, combined with the line number")  //
        ("sample", real_number("--sample", sample_, {.least = 0})->value_name("ALPHA"),
         "draw a random segmentation: with a unigram model, by its probability to the power of ALPHA; otherwise "
         "BPE-dropout with probability ALPHA; see --seed")  //
        ("sample-from", whole_number("--sample-from", sample_from_, 0, kMaxSegmentations)->value_name("N"),
         "with --sample and a unigram model: draw from the N best segmentations (default: 0, all)")  //
        ("n-best", whole_number("--n-best", coding_.n_best, 1, kMaxSegmentations)->value_name("N"),
         "unigram models: JSON lines with the N best segmentations and their scores")                 //
        ("add-bos", po::bool_switch(&add_bos_), "add --bos at the beginning of each line")            //
        ("add-eos", po::bool_switch(&add_eos_), "add --eos at the end of each line")                  //
        ("bos", po::value(&bos_)->default_value("<s>")->value_name("TOKEN"), "token for --add-bos")   //
        ("eos", po::value(&eos_)->default_value("</s>")->value_name("TOKEN"), "token for --add-eos")  //
        ("add-special", po::bool_switch(&add_special_),
         "add the ids around each line that the post-processor of the tokenizer.json adds")             //
        ("reverse", po::bool_switch(&coding_.reverse), "reverse the order of the pieces in each line")  //
        ("match-special", po::bool_switch(&coding_.encode.match_special_tokens),
         "treat special tokens in the text as special pieces instead of plain text")  //
        ("threads", thread_count(coding_.threads),
         "0: all cores that the process may use; the output does not depend on it");
    utf8_.add_to(options);
    tokenizer_options_.add_kind_to(options);
    tokenizer_options_.add_to(options);
    kind_options_.add_to(options);
  }
  std::vector<std::string> positional() const override { return {"input"}; }
  bool prints_lines() const override { return true; }

  void run(const Session& session) override {
    coding_.format = line_format(format_, true);
    coding_.log = session.log;
    coding_.invalid_utf8 = utf8_.value();
    coding_.encode.mode = encoding_mode(mode_);
    if (dropout_ && coding_.encode.mode != tokenizer::EncodingMode::kDropout)
      throw UsageError("--dropout has an effect with --mode dropout only");
    coding_.encode.dropout = dropout_.value_or(coding_.encode.dropout);
    const auto tokenizer = kind_options_.load(tokenizer_, tokenizer_options_, session.log);
    choose_sampling(*tokenizer);
    if (add_bos_) coding_.in_front = {special_id(*tokenizer, bos_, "--add-bos", "--bos")};
    if (add_eos_) coding_.behind = {special_id(*tokenizer, eos_, "--add-eos", "--eos")};
    if (add_special_) add_special(*tokenizer);
    core::OutputFile output(output_, {.stop = session.stop});
    tokenizer::encode_lines(*tokenizer, input_, output, coding_, session.progress, session.stop);
    output.commit();
  }

 private:
  static constexpr std::int32_t kMaxSegmentations = 1024;

  void choose_sampling(const tokenizer::Tokenizer& tokenizer) {
    if (sample_from_ && !sample_) throw UsageError("--sample-from has an effect with --sample only");
    if (coding_.n_best > 0 && (sample_ || coding_.encode.mode != tokenizer::EncodingMode::kExact))
      throw UsageError("--n-best are the best segmentations; leave out --sample and --mode");
    if (coding_.n_best > 0 && coding_.encode.match_special_tokens)
      throw UsageError("--n-best are the segmentations of plain text; leave out --match-special");
    if (!sample_) return;
    if (coding_.encode.mode != tokenizer::EncodingMode::kExact) throw UsageError("--sample: leave out --mode");
    // A tokenizer that supports neither reports the alternatives.
    if (has_encoding_mode(tokenizer, tokenizer::EncodingMode::kSample) ||
        !has_encoding_mode(tokenizer, tokenizer::EncodingMode::kDropout)) {
      coding_.encode.mode = tokenizer::EncodingMode::kSample;
      coding_.encode.alpha = *sample_;
      coding_.encode.n_best = sample_from_.value_or(0);
      return;
    }
    if (sample_from_) throw UsageError("--sample-from is for SentencePiece's unigram models; of merges, leave it out");
    if (*sample_ > 1) throw UsageError("--sample: merges are left out with this probability; it must be from 0 to 1");
    coding_.encode.mode = tokenizer::EncodingMode::kDropout;
    coding_.encode.dropout = *sample_;
  }

  void add_special(const tokenizer::Tokenizer& tokenizer) {
    if (add_bos_ || add_eos_)
      throw UsageError("--add-special puts the tokens of the file around each line; leave out --add-bos and --add-eos");
    const auto ids = tokenizer::ids_of_post_processor(tokenizer);
    core::require(ids.has_value(), core::ErrorCode::kUnsupported,
                  "--add-special: {} has no post-processor, which only a tokenizer.json may have; use --add-bos and "
                  "--add-eos",
                  tokenizer_);
    coding_.in_front = ids->in_front;
    coding_.behind = ids->behind;
  }

  static std::int32_t special_id(const tokenizer::Tokenizer& tokenizer, const std::string& token,
                                 std::string_view option, std::string_view name) {
    const auto id = tokenizer.id(token);
    core::require(id.has_value(), core::ErrorCode::kInvalidArgument,
                  "{}: this tokenizer has no piece {}; say which one it is with {}", option, token, name);
    return *id;
  }

  std::optional<double> sample_;
  std::optional<std::int32_t> sample_from_;
  bool add_bos_ = false;
  bool add_eos_ = false;
  bool add_special_ = false;
  std::string bos_;
  std::string eos_;
  tokenizer::LineCodingOptions coding_;
  std::optional<double> dropout_;
  TokenizerOptions tokenizer_options_;
  TokenizerKindOptions kind_options_;
  InvalidUtf8Option utf8_;
  std::string tokenizer_;
  std::string input_;
  std::string output_;
  std::string format_;
  std::string mode_;
};

}  // namespace

std::unique_ptr<Command> make_encode() {
  return std::make_unique<Encode>();
}

}  // namespace dragoman::cli
