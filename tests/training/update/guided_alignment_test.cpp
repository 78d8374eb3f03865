#include "small_task.h"
#include "test_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/aligner.h>
#include <dragoman/training/loss.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;
using tensor::Device;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SmallTask;
using testing::StopAt;
using testing::train;

using Ids = std::vector<std::int32_t>;

// --- the loss ---

/// A small model in double precision, and three pairs with links.
class GuidedLoss : public ::testing::Test {
 protected:
  void SetUp() override {
    add({3, 4, 5, 2}, {6, 7, 2}, {0, 1, 0, 2, 1, 0});
    add({8, 2}, {9, 3, 4, 2}, {});
    add({5, 6, 7, 2}, {3, 3, 2}, {1, 3});
    const core::Json options = {{"d_model", 8},         {"heads", 2},
                                {"alignment_heads", 2}, {"feed_forward", 12},
                                {"encoder_layers", 1},  {"decoder_layers", 2},
                                {"alignment_layer", 0}, {"dropout", {{"sub_layer", 0.2}, {"attention", 0.3}}}};
    model_ = make_environment(testing::host())
                 .make_model("transformer", {.source_vocabulary = 12, .target_vocabulary = 12}, options);
    auto& memory = testing::host().runtime().memory(Device::kReference);
    model_->parameters().allocate(memory, tensor::DType::kF64, Device::kReference);
    model_->parameters().initialise(1);
    model_->parameters().attach_gradients(memory);
  }
  void add(const Ids& source, const Ids& target, const Ids& links) {
    pairs_.source.append(source);
    pairs_.target.append(target);
    pairs_.links.append(links);
  }
  Batch batch(bool repeated = false, std::int64_t bucket = 1) const {
    Batch batch;
    batch.assign(pairs_, std::vector<std::uint32_t>{0, 1, 2}, 1, bucket);
    if (repeated) batch.repeat();
    return batch;
  }
  ops::LossSums compute(const Batch& batch, const LossOptions& options) {
    model_->parameters().begin_gradients();
    const ops::LossSums sums = accumulate_gradients(*context_, *model_, batch, options, kScale, {.seed = 3, .step = 4});
    model_->parameters().finish_gradients();
    return sums;
  }
  std::vector<double> gradients() {
    const tensor::Tensor flat = model_->parameters().flat_gradients();
    return {flat.as<double>(), flat.as<double>() + flat.size()};
  }
  static LossOptions options(double weight, double r_drop = 0,
                             ops::AlignmentCost cost = ops::AlignmentCost::kCrossEntropy) {
    LossOptions options(0.1);
    options.r_drop = r_drop;
    options.guided_alignment = {.weight = weight, .cost = cost};
    return options;
  }

  static constexpr double kScale = 0.5;
  EncodedPairs pairs_;
  core::SequentialExecutor executor_;
  std::unique_ptr<tensor::Context> context_ = testing::host().runtime().make_context(Device::kReference, executor_);
  std::unique_ptr<nn::Seq2SeqModel> model_;
};

TEST_F(GuidedLoss, ABatchHasTheLinksOfEachTokenThatIsPredicted) {
  const Batch plain = batch();
  const auto list = [](std::span<const std::int32_t> span) { return Ids(span.begin(), span.end()); };
  EXPECT_THAT(list(plain.links()), ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(list(plain.link_offsets()), ElementsAre(0, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4));
  const Batch repeated = batch(true);
  EXPECT_THAT(list(repeated.links()), ElementsAre(1, 2, 0, 3, 1, 2, 0, 3));
  EXPECT_EQ(repeated.link_offsets().size(), 21U);
  EXPECT_EQ(repeated.link_offsets()[12], 7);
  const Batch filled = batch(false, 8);
  EXPECT_EQ(filled.link_offsets().size(), filled.input().tokens.size() + 1);
  EXPECT_EQ(filled.link_offsets().back(), 4);
}

TEST_F(GuidedLoss, IsTheWeightedSumOfBothLosses) {
  const ops::LossSums plain = compute(batch(), options(0));
  EXPECT_EQ(plain.alignment, 0);
  const ops::LossSums guided = compute(batch(), options(0.3));
  EXPECT_GT(guided.alignment, 1);
  EXPECT_NEAR(guided.loss, plain.loss + 0.3 * guided.alignment, 1e-12);
  EXPECT_EQ(guided.negative_log_likelihood, plain.negative_log_likelihood);
  EXPECT_EQ(guided.tokens, plain.tokens);
  EXPECT_NEAR(compute(batch(false, 16), options(0.3)).alignment, guided.alignment, 1e-12);
}

/// Of both passes of R-Drop the mean counts.
TEST_F(GuidedLoss, OfARepeatedBatchIsTheMean) {
  const ops::LossSums repeated = compute(batch(true), options(0.3, 1));
  EXPECT_NEAR(repeated.loss, compute(batch(true), options(0, 1)).loss + 0.3 * repeated.alignment, 1e-12);
  EXPECT_NEAR(repeated.alignment, compute(batch(), options(0.3)).alignment, 1);  // other draws of dropout
}

TEST_F(GuidedLoss, GradientIsTheSlopeOfTheLoss) {
  for (const bool recomputes : {false, true})
    for (const double r_drop : {0.0, 2.0})
      for (const auto cost : {ops::AlignmentCost::kCrossEntropy, ops::AlignmentCost::kMeanSquaredError,
                              ops::AlignmentCost::kMultiplication}) {
        autograd::training_mode(*context_).set_recomputes(recomputes);
        const LossOptions guided = options(0.7, r_drop, cost);
        const Batch pairs = batch(r_drop > 0);
        compute(pairs, options(0, r_drop));
        const std::vector<double> without = gradients();
        compute(pairs, guided);
        const std::vector<double> with = gradients();
        auto* values = model_->parameters().flat_values().as<double>();
        constexpr double kStep = 1e-6;
        double pulled = 0;
        for (std::size_t i = 0; i < with.size(); i += 61) {
          const double value = values[i];
          values[i] = value + kStep;
          const double above = compute(pairs, guided).loss;
          values[i] = value - kStep;
          const double below = compute(pairs, guided).loss;
          values[i] = value;
          EXPECT_NEAR(with[i], kScale * (above - below) / (2 * kStep), 1e-6);
          pulled = std::max(pulled, std::fabs(with[i] - without[i]));
        }
        EXPECT_GT(pulled, 1e-4);
      }
}

// --- the data ---

/// Texts whose pieces are bytes, blanks among them.
class AlignedCorpus : public ::testing::Test {
 protected:
  class Bytes final : public tokenizer::Tokenizer {
   public:
    std::int32_t size() const override { return 256; }
    Ids encode(std::string_view text, const tokenizer::EncodeOptions& options) const override {
      Ids ids;
      for (const tokenizer::Piece& piece : encode_pieces(text, options)) ids.push_back(piece.id);
      return ids;
    }
    /// Of drawn lines with an even number every two bytes are one piece, so draws differ.
    std::vector<tokenizer::Piece> encode_pieces(std::string_view text,
                                                const tokenizer::EncodeOptions& options) const override {
      std::vector<tokenizer::Piece> pieces;
      const std::size_t step = options.mode == tokenizer::EncodingMode::kDropout && options.seed % 2 == 0 ? 2 : 1;
      for (std::size_t i = 0; i < text.size(); i += step)
        pieces.push_back({static_cast<unsigned char>(text[i]), i, std::min(i + step, text.size())});
      return pieces;
    }
    std::string decode(std::span<const std::int32_t> ids) const override { return {ids.begin(), ids.end()}; }
    std::string_view piece(std::int32_t) const override { return "x"; }
    std::optional<std::int32_t> id(std::string_view) const override { return std::nullopt; }
    bool is_special(std::int32_t) const override { return false; }
  };

  std::string write(const std::string& name, const std::string& text) const {
    core::write_file(folder_.path() / name, text);
    return (folder_.path() / name).string();
  }
  ParallelCorpusConfig texts(const std::string& source, const std::string& target, const std::string& alignment) const {
    return {.source = {write("s", source)}, .target = {write("t", target)}, .alignment = {write("a", alignment)}};
  }
  Corpus read(const ParallelCorpusConfig& files, const CorpusOptions& options = {}) {
    return Corpus(files, {bytes_, bytes_}, options, executor_);
  }
  std::string error_of(const ParallelCorpusConfig& files, const CorpusOptions& options = {}) {
    try {
      read(files, options);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kBadInput);
      return error.what();
    }
    return "no error";
  }
  static Ids links_of(const EncodedPairs& pairs, std::size_t i) {
    return {pairs.links[i].begin(), pairs.links[i].end()};
  }

  TemporaryFolder folder_;
  core::SequentialExecutor executor_;
  std::shared_ptr<const tokenizer::Tokenizer> bytes_ = std::make_shared<Bytes>();
};

TEST_F(AlignedCorpus, LinksAllPiecesOfTheWordsThatAreLinked) {
  const formats::SequenceTags tags{.source_prefix = {20, 21}, .source_suffix = {22}, .target_prefix = {30}};
  // A blank goes with the word behind it: pieces are "ab", " c" and "x", " yz".
  const Corpus plain = read(texts("ab c\n\nq\n", "x yz\nw\nr\n", "0-1 1-0\n\n\n"));
  ASSERT_EQ(plain.pairs().links.size(), 2U);
  EXPECT_THAT(links_of(plain.pairs(), 0), ElementsAre(0, 2, 0, 3, 1, 0, 1, 1, 2, 0, 2, 1, 3, 0, 3, 1));
  EXPECT_THAT(links_of(plain.pairs(), 1), IsEmpty());
  const Corpus tagged = read(texts("ab c\n", "x yz\n", "1-0 1-0\n"), {.tags = tags});
  EXPECT_THAT(links_of(tagged.pairs(), 0), ElementsAre(1, 4, 1, 5));
  EXPECT_EQ(read({.source = {write("s", "a\n")}, .target = {write("t", "b\n")}}).pairs().links.size(), 0U);
}

TEST_F(AlignedCorpus, TakesLinksOfPiecesAsTheyAre) {
  const Corpus corpus = read(texts("ab c\n", "x yz\n", "3-0 0-3\n"), {.alignment_units = AlignmentUnits::kPieces});
  EXPECT_THAT(links_of(corpus.pairs(), 0), ElementsAre(0, 3, 3, 0));
}

TEST_F(AlignedCorpus, NamesFileAndLineOfWhatIsNoAlignment) {
  const std::string file = (folder_.path() / "a").string();
  EXPECT_THAT(error_of(texts("a b\nc\n", "x\ny\n", "0-0\n0-1\n")),
              AllOf(HasSubstr(file + ": line 2"), HasSubstr("0-1")));
  EXPECT_THAT(error_of(texts("a b\nc\n", "x\ny\n", "0-0 1:0\n0-0\n")),
              AllOf(HasSubstr(file + ": line 1"), HasSubstr("1:0")));
  EXPECT_THAT(error_of(texts("a\nb\n", "x\ny\n", "0-0\n")),
              AllOf(HasSubstr("has 2 lines"), HasSubstr(file), HasSubstr("has 1")));
  EXPECT_THAT(error_of(texts("a\n", "x\n", "0-0\n\n\n")), AllOf(HasSubstr("has 1 line"), HasSubstr("has 3")));
  // Also of pairs that are left out.
  EXPECT_THAT(error_of(texts("aaaaa\nb\n", "x\ny\n", "7-0\n\n"), {.maximum_length = 4}), HasSubstr("line 1"));
}

TEST_F(AlignedCorpus, ReadsColumnsAndKeys) {
  const auto links = [&](corpus::PairFile file) {
    return links_of(read({.source = {}, .target = {}, .texts = {{.files = {std::move(file)}}}}).pairs(), 0);
  };
  EXPECT_THAT(links({.format = corpus::PairFormat::kTsv,
                     .source = write("tsv", "0-0\tx\ta\n"),
                     .source_column = 3,
                     .target_column = 2,
                     .alignment_column = 1}),
              ElementsAre(0, 0));
  EXPECT_THAT(links({.format = corpus::PairFormat::kJsonl,
                     .source = write("jsonl", R"({"source": "a", "target": "x y", "links": "0-1"})"),
                     .alignment_key = "links"}),
              ElementsAre(1, 0, 2, 0));
}

/// A mix of texts with and without alignments.
TEST_F(AlignedCorpus, TextsWithoutAlignmentsHaveNoLinks) {
  const std::vector<CorpusPart> mix{
      {.files = {{.source = write("s1", "a\n"), .target = write("t1", "b\n")}}},
      {.files = {{.source = write("s2", "c\n"), .target = write("t2", "d\n"), .alignment = write("a2", "0-0\n")}}}};
  const Corpus corpus = read({.source = {}, .target = {}, .texts = mix});
  ASSERT_EQ(corpus.pairs().links.size(), 2U);
  EXPECT_THAT(links_of(corpus.pairs(), 0), IsEmpty());
  EXPECT_THAT(links_of(corpus.pairs(), 1), ElementsAre(0, 0));
}

TEST_F(AlignedCorpus, LinksFollowTheSegmentationOfEachEpoch) {
  const Corpus corpus = read(texts("abcd e\n", "wxyz v\n", "0-0\n"), {.maximum_length = 7, .bpe_dropout = 0.5});
  std::set<Ids> seen;
  for (std::int64_t epoch = 0; epoch < 12; ++epoch) {
    const EncodedPairs drawn = corpus.drawn(epoch, executor_, {});
    // The first words are 4 pieces, or 2.
    const std::int32_t sources = drawn.source.length(0) == 7 ? 4 : 2, targets = drawn.target.length(0) == 7 ? 4 : 2;
    Ids expected;
    for (std::int32_t t = 0; t < targets; ++t)
      for (std::int32_t s = 0; s < sources; ++s) expected.insert(expected.end(), {t, s});
    EXPECT_EQ(links_of(drawn, 0), expected);
    seen.insert(expected);
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST_F(AlignedCorpus, OtherAlignmentsAreOtherData) {
  const std::string one = read(texts("a b\n", "x y\n", "0-0\n")).fingerprint();
  EXPECT_EQ(read(texts("a b\n", "x y\n", "0-0\n")).fingerprint(), one);
  EXPECT_NE(read(texts("a b\n", "x y\n", "0-1\n")).fingerprint(), one);
}

/// On disk they are what they are in memory, also when a block has to be made anew.
TEST_F(AlignedCorpus, BlocksHoldLinks) {
  std::string source, target, alignment;
  for (int i = 0; i < 40000; ++i) {
    source += "a" + std::to_string(i) + " b\n";
    target += std::to_string(i) + "\n";
    alignment += "0-0\n";
  }
  for (const double dropout : {0.0, 0.5}) {
    const ParallelCorpusConfig files = texts(source, target, alignment);
    std::string log;
    CorpusOptions options{.bpe_dropout = dropout,
                          .log = [&log](core::LogLevel, std::string_view text) { log += text; }};
    const Corpus whole = read(files, options);
    options.memory = 1 << 20;
    options.cache = folder_.path() / ("blocks" + std::to_string(dropout));
    const Corpus blocks = read(files, options);
    ASSERT_TRUE(blocks.on_disk());
    EXPECT_EQ(blocks.fingerprint(), whole.fingerprint());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options.cache))
      if (entry.path().filename() == "block-000001.bin") core::write_file(entry.path(), "damaged");
    EncodedPairs all;
    for (std::size_t block = 0; block < blocks.blocks(); ++block) blocks.append_block(block, 3, all, {});
    EXPECT_THAT(log, HasSubstr("made anew"));
    const EncodedPairs drawn = dropout > 0 ? whole.drawn(3, executor_, {}) : EncodedPairs{};
    const EncodedPairs& expected = dropout > 0 ? drawn : whole.pairs();
    ASSERT_EQ(all.links.size(), whole.size());
    for (std::size_t i = 0; i < all.links.size(); ++i) ASSERT_EQ(links_of(all, i), links_of(expected, i)) << i;
  }
}

// --- training ---

class GuidedTraining : public ::testing::Test {
 protected:
  std::vector<std::string> with(std::vector<std::string> assignments, const std::string& run) const {
    assignments.push_back("output=" + task_.file(run).string());
    assignments.push_back("data.train.alignment=" + task_.file("train.alignment").string());
    return assignments;
  }
  std::string refusal(const std::vector<std::string>& assignments) const {
    try {
      train(task_.config(assignments));
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::vector<core::Json> training_lines(const std::string& run) const {
    std::vector<core::Json> lines;
    core::LineReader reader(task_.file(run) / "metrics.jsonl");
    for (std::string line; reader.next(line);)
      if (core::Json json = core::parse_json(line, "metrics.jsonl"); json["type"] == "training")
        lines.push_back(std::move(json));
    return lines;
  }
  static std::vector<std::string> lines_of(const std::filesystem::path& file) {
    std::vector<std::string> lines;
    core::LineReader reader(file);
    for (std::string line; reader.next(line);) lines.push_back(line);
    return lines;
  }
  /// Alignment error rate (Och and Ney 2003) of what a model says of the validation text.
  double error_rate(const std::filesystem::path& model) const {
    plugins::Host host;
    pipeline::Aligner aligner(pipeline::Model(model, host), {});
    std::vector<pipeline::LinePair> pairs;
    const auto sources = lines_of(task_.file("valid.source")), targets = lines_of(task_.file("valid.target"));
    for (std::size_t i = 0; i < sources.size(); ++i) pairs.push_back({sources[i], targets[i], "pair"});
    const auto wanted = lines_of(task_.file("valid.alignment"));
    double both = 0, sum = 0;
    const auto aligned = aligner.align(pairs);
    for (std::size_t i = 0; i < aligned.size(); ++i) {
      const corpus::Links links = corpus::parse_pharaoh(wanted[i], 100, 100);
      corpus::Links found;
      std::ranges::set_intersection(links, aligned[i].links, std::back_inserter(found));
      both += static_cast<double>(found.size());
      sum += static_cast<double>(links.size() + aligned[i].links.size());
    }
    return 1 - 2 * both / sum;
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path(), 400};
};

TEST_F(GuidedTraining, ModelsFindTheAlignmentThatTheyWereGuidedTo) {
  const std::vector<std::string> recipe{"training.updates=600",
                                        "training.batch_tokens=600",
                                        "training.guided_alignment.weight=0.5",
                                        "model.d_model=32",
                                        "model.decoder_layers=2",
                                        "model.alignment_layer=0",
                                        "model.dropout={embedding: 0, sub_layer: 0, activation: 0, attention: 0}",
                                        "validation.metrics=[]"};
  std::vector<std::string> unguided = recipe;
  unguided.emplace_back("training.guided_alignment.weight=0");
  train(task_.config(with(recipe, "guided")));
  train(task_.config(with(unguided, "unguided")));
  const double guided = error_rate(task_.file("guided/last")), usual = error_rate(task_.file("unguided/last"));
  EXPECT_LT(guided, 0.1);
  EXPECT_GT(usual, guided + 0.2);
  const auto lines = training_lines("guided");
  EXPECT_LT(lines.back()["alignment_loss"].get<double>(), lines.front()["alignment_loss"].get<double>() / 3);
  EXPECT_FALSE(training_lines("unguided").front().contains("alignment_loss"));
}

TEST_F(GuidedTraining, ResumesToTheBytesOfAnUninterruptedRunWithAnyThreads) {
  const std::vector<std::string> recipe{"data.bpe_dropout=0.2", "training.accumulate=2", "validation.metrics=[]"};
  train(task_.config(with(recipe, "whole")));
  StopAt stop(13);
  EXPECT_THROW(
      train(task_.config(with(recipe, "halves")), StartMode::kFresh, stop.source.get_token(), stop.environment),
      core::Error);
  train(task_.config(with(recipe, "halves")), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("halves", 24), task_.checkpoint_bytes("whole", 24));
  const auto without_time = [&](const std::string& run) {
    std::string text;
    for (core::Json line : training_lines(run)) {
      for (const char* time : {"seconds", "data_seconds"}) line.erase(time);
      text += line.dump() + "\n";
    }
    return text;
  };
  EXPECT_EQ(without_time("halves"), without_time("whole"));
  for (const int threads : {2, 3}) {
    std::vector<std::string> more = recipe;
    more.push_back("threads=" + std::to_string(threads));
    const std::string run = "threads" + std::to_string(threads);
    train(task_.config(with(more, run)));
    EXPECT_TRUE(task_.checkpoint_bytes(run, 24) == task_.checkpoint_bytes("whole", 24)) << threads;
  }
}

TEST_F(GuidedTraining, RecomputationAndDroppedLayersGoTogetherWithIt) {
  train(task_.config(with({"validation.metrics=[]"}, "kept")));
  train(task_.config(with({"validation.metrics=[]", "training.recompute=true"}, "recomputed")));
  EXPECT_TRUE(task_.checkpoint_bytes("recomputed", 24) == task_.checkpoint_bytes("kept", 24));
  train(task_.config(with({"validation.metrics=[]", "model.dropout.layer=0.9", "training.report_every=1"}, "dropped")));
  const auto lines = training_lines("dropped");
  const auto is_zero = [](const core::Json& line) { return line["alignment_loss"] == 0; };
  EXPECT_GT(std::ranges::count_if(lines, is_zero), 0);
  EXPECT_LT(std::ranges::count_if(lines, is_zero), std::ssize(lines));
}

TEST_F(GuidedTraining, OtherModelsCanBeGuidedToo) {
  train(
      task_.config(with({"validation.metrics=[]",
                         "model={type: t5, d_model: 16, heads: 2, head_width: 8, feed_forward: 32, encoder_layers: 1, "
                         "decoder_layers: 1, maximum_source_length: 32, maximum_target_length: 32}"},
                        "t5")));
  EXPECT_GT(training_lines("t5").front()["alignment_loss"], 0);
}

TEST_F(GuidedTraining, WhatHasNoEffectIsRefusedByName) {
  EXPECT_THAT(refusal({"training.guided_alignment.weight=0.5"}),
              AllOf(HasSubstr("training.guided_alignment"), HasSubstr("data.train.alignment")));
  EXPECT_THAT(refusal({"data.alignment_units=pieces"}), HasSubstr("data.alignment_units"));
  EXPECT_THAT(refusal(with({"data.alignment_units=pieces", "data.bpe_dropout=0.1"}, "run")),
              AllOf(HasSubstr("data.alignment_units"), HasSubstr("data.bpe_dropout")));
  EXPECT_THAT(refusal({"data.validation.alignment=x"}), HasSubstr("alignment"));
}

TEST_F(GuidedTraining, AConfigurationIsReadAndWritten) {
  const TrainingConfig config = task_.config(
      {"data.train=[{source: a, target: b, alignment: c, weight: 2}, {tsv: d, alignment_column: 3}, {jsonl: e, "
       "alignment_key: links}, {source: [f, g], target: [h, i], alignment: [j, k]}]",
       "training.guided_alignment={weight: 0.5, cost: multiplication}"});
  EXPECT_EQ(config.data.train.texts[3].files[1].alignment, "k");
  EXPECT_EQ(config.data.train.texts[1].files[0].alignment_column, 3U);
  const TrainingConfig again = read_training_config(to_json(config), "again");
  EXPECT_EQ(again.data.train.texts, config.data.train.texts);
  EXPECT_EQ(again.training.guided_alignment, config.training.guided_alignment);
  const TrainingConfig plain = task_.config({"data.train={source: [a, b], target: [c, d], alignment: [e, f]}"});
  EXPECT_THAT(read_training_config(to_json(plain), "again").data.train.alignment, ElementsAre("e", "f"));
  EXPECT_THAT(refusal({"data.train={source: [a, b], target: [c, d], alignment: e}"}), HasSubstr("alignment"));
  EXPECT_THAT(refusal({"data.train={tsv: a, alignment_column: 2}"}), HasSubstr("column 2"));
}

}  // namespace
}  // namespace dragoman::training
