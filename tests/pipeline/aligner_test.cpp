#include "dragoman/pipeline/aligner.h"

#include "error_message.h"
#include "tiny_model.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/tensor/host_view.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::pipeline {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> pharaoh(Aligner& aligner, std::vector<LinePair> pairs) {
  std::vector<std::string> lines;
  for (const PairAlignment& alignment : aligner.align(std::move(pairs)))
    lines.push_back(corpus::to_pharaoh(alignment.links));
  return lines;
}

/// Everything is zero but the norms and what makes queries and keys of positions: a step attends to the source position
/// that is its own.
void attend_to_the_own_place(nn::ParameterStore& parameters) {
  for (nn::Parameter& parameter : parameters.all()) {
    const bool is_norm = parameter.name.ends_with("norm.weight");
    const bool is_match =
        parameter.name.ends_with("cross_attention.q.weight") || parameter.name.ends_with("cross_attention.kv.weight");
    for (std::int64_t i = 0; i < parameter.rows; ++i)
      for (std::int64_t j = 0; j < parameter.cols; ++j)
        tensor::set_element(parameter.value, i, j, is_norm ? 1 : is_match && i == j ? 8 : 0);
  }
}

class AlignerTest : public ::testing::Test {
 protected:
  const std::vector<LinePair> pairs_ = {{"the cat sat", "eine Katze sat on", "1"},
                                        {"ein Hund", "the dog on the mat", "2"},
                                        {"the dog sat on the log", "Hund", "3"},
                                        {"", "Katze", "4"},
                                        {"cat", "  ", "5"},
                                        {"on the mat", "und die Katze", "6"}};
  testing::TinyModel model_;
  plugins::Host host_;
};

TEST(AlignerOfKnownAttention, FindsTheOwnPlaceOfEachPiece) {
  const testing::TinyModel model(attend_to_the_own_place);
  plugins::Host host;
  // Six pieces on each side: single characters, none of which merges.
  const std::vector<LinePair> pairs = {{"q x z", "x q x", "1"}};
  Aligner output(Model(model.path(), host, {.threads = 1}), {.alignment = {.unit = AlignmentUnit::kPieces}});
  const PairAlignment aligned = output.align(pairs).front();
  ASSERT_EQ(aligned.source.size(), aligned.target.size());
  std::string diagonal;
  std::string shifted;
  for (std::size_t i = 0; i < aligned.source.size(); ++i) {
    diagonal += (i == 0 ? "" : " ") + std::to_string(i) + "-" + std::to_string(i);
    if (i > 0) shifted += (i == 1 ? "" : " ") + std::to_string(i) + "-" + std::to_string(i - 1);
  }
  EXPECT_EQ(corpus::to_pharaoh(aligned.links), diagonal);
  // The step that reads piece i predicts the one behind it. The last one attends to the source's end.
  Aligner input(Model(model.path(), host, {.threads = 1}),
                {.alignment = {.unit = AlignmentUnit::kPieces, .step = AlignmentStep::kInput}});
  corpus::Links found = input.align(pairs).front().links;
  std::erase_if(found,
                [&](const corpus::Link& link) { return link.target + 1 == static_cast<int>(aligned.target.size()); });
  EXPECT_EQ(corpus::to_pharaoh(found), shifted);
  Aligner words(Model(model.path(), host, {.threads = 1}), {});
  EXPECT_THAT(pharaoh(words, pairs), ::testing::ElementsAre("0-0 1-1 2-2"));
}

/// Tags move the pieces of both sides by the same number of places, so the diagonal stays where it is.
TEST(AlignerOfKnownAttention, LeavesOutTagsAndNeedsNoEndOfTheSource) {
  const testing::TinyModel model(attend_to_the_own_place);
  plugins::Host host;
  const std::vector<LinePair> pairs = {{"q x z", "x q x", "1"}};
  const std::filesystem::path file = model.path() / "config.json";
  const core::Json plain = core::load_json(file.string());
  for (const core::Json& tags :
       {core::Json{{"source_end", false}}, core::Json{{"source_prefix", {0, 0}}, {"target_prefix", {0, 0}}},
        core::Json{{"source_prefix", {0}}, {"source_suffix", {0}}, {"target_prefix", {0}}}}) {
    core::Json config = plain;
    config["format_version"] = 3;
    config["languages"] = {{"always", tags}};
    core::write_file(file, config.dump());
    Aligner aligner(Model(model.path(), host, {.threads = 1}), {.alignment = {.unit = AlignmentUnit::kPieces}});
    const PairAlignment aligned = aligner.align(pairs).front();
    std::string diagonal;
    for (std::size_t i = 0; i < aligned.source.size(); ++i)
      diagonal += (i == 0 ? "" : " ") + std::to_string(i) + "-" + std::to_string(i);
    EXPECT_EQ(corpus::to_pharaoh(aligned.links), diagonal) << tags;
  }
}

/// Scorer brings the same attention out by another way.
TEST_F(AlignerTest, LinksEachTargetPieceToTheSourcePieceOfMostAttention) {
  const AttentionSettings cross{.kind = decoding::AttentionKind::kCross,
                                .request = {.layers = {1}, .mean = true, .full_context = true}};
  Scorer scorer(Model(model_.path(), host_, {.threads = 1}), {.attention = cross});
  Aligner aligner(Model(model_.path(), host_, {.threads = 1}),
                  {.alignment = {.unit = AlignmentUnit::kPieces, .layer = -1, .full_context = true}});
  const auto scores = scorer.score(pairs_);
  const auto alignments = aligner.align(pairs_);
  for (std::size_t n = 0; n < pairs_.size(); ++n) {
    const decoding::AttentionMaps& maps = scores[n].attention->maps;
    corpus::Links expected;
    for (std::int64_t i = 0; i + 1 < maps.queries && maps.keys > 1; ++i) {
      std::int64_t best = 0;
      for (std::int64_t j = 0; j + 1 < maps.keys; ++j)
        if (maps.at(0, 0, i, j) > maps.at(0, 0, i, best)) best = j;
      expected.push_back({static_cast<std::int32_t>(best), static_cast<std::int32_t>(i)});
    }
    std::ranges::sort(expected);
    EXPECT_EQ(alignments[n].links, expected) << "pair " << n;
    EXPECT_EQ(alignments[n].target, scores[n].pieces);
  }
}

TEST_F(AlignerTest, GivesEachPairTheSameInAnyCompany) {
  Aligner together(Model(model_.path(), host_, {.threads = 2}), {});
  const auto all = pharaoh(together, pairs_);
  Aligner alone(Model(model_.path(), host_, {.threads = 1}), {});
  for (std::size_t n = 0; n < pairs_.size(); ++n)
    EXPECT_EQ(pharaoh(alone, {pairs_[n]}).front(), all[n]) << pairs_[n].where;
  EXPECT_EQ(all[3], "");
  EXPECT_EQ(all[4], "");
  for (const std::size_t n : {0, 1, 2, 5}) {
    const auto sources = static_cast<std::int64_t>(corpus::words_of(pairs_[n].source).size());
    const auto targets = corpus::words_of(pairs_[n].target).size();
    const corpus::Links links = corpus::parse_pharaoh(all[n], sources, static_cast<std::int64_t>(targets));
    EXPECT_EQ(links.size(), targets) << "one link per target word";
  }
}

TEST_F(AlignerTest, SwappedPairsHaveSwappedLinksWhereBothDirectionsHaveOneModel) {
  std::vector<LinePair> swapped;
  for (const LinePair& pair : pairs_) swapped.push_back({pair.target, pair.source, pair.where});
  for (const corpus::Symmetrization how : {corpus::Symmetrization::kIntersection, corpus::Symmetrization::kUnion}) {
    const Model model(model_.path(), host_, {.threads = 1});
    Aligner aligner(model, {.alignment = {.symmetrization = how}, .reverse_model = model});
    const auto alignments = aligner.align(pairs_);
    const auto mirrored = aligner.align(swapped);
    for (std::size_t n = 0; n < pairs_.size(); ++n) {
      corpus::Links links;
      for (const corpus::Link& link : mirrored[n].links) links.push_back({link.target, link.source});
      std::ranges::sort(links);
      EXPECT_EQ(alignments[n].links, links) << "pair " << n;
    }
  }
}

TEST_F(AlignerTest, ThresholdKeepsAllLinksOfThatWeight) {
  Aligner aligner(Model(model_.path(), host_, {.threads = 1}), {.alignment = {.threshold = 0.2}});
  for (const PairAlignment& alignment : aligner.align(pairs_)) {
    std::size_t heavy = 0;
    for (const double weight : alignment.weights.values) heavy += weight >= 0.2 ? 1 : 0;
    EXPECT_EQ(alignment.links.size(), heavy);
    for (const corpus::Link& link : alignment.links) EXPECT_GE(alignment.weights.at(link.target, link.source), 0.2);
  }
}

TEST_F(AlignerTest, WhatCannotBeAlignedSaysWhy) {
  std::string long_line = "q";
  for (int i = 0; i < 40; ++i) long_line += " q";
  Aligner aligner(Model(model_.path(), host_, {.threads = 1}), {});
  const auto alignments = aligner.align({{long_line, "cat", "here: line 7"}, {"cat", "cat", "x"}});
  EXPECT_THAT(alignments[0].error, HasSubstr("here: line 7: the source has"));
  EXPECT_TRUE(alignments[0].links.empty());
  EXPECT_EQ(alignments[1].error, "");
  Aligner no_layer(Model(model_.path(), host_, {.threads = 1}), {.alignment = {.layer = 2}});
  EXPECT_THAT(testing::message_of([&] { no_layer.align(pairs_); }, core::ErrorCode::kInvalidArgument),
              HasSubstr("no attention layer 2"));
  const core::Json heads{{"heads", "0"}};
  core::OptionReader options(heads, "test");
  AlignmentSettings settings;
  alignment_table().read(options, settings);
  EXPECT_THAT(testing::message_of([&] { check(settings, options); }), HasSubstr("heads: needs a layer"));
}

}  // namespace
}  // namespace dragoman::pipeline
