#include "dragoman/nn/seq2seq_model.h"

#include "nn_harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/nn/pooled_state.h>

namespace dragoman::nn {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::ReferenceContext;

core::Json spec_json(const core::Json& changes = core::Json::object()) {
  core::Json json{{"source_vocabulary", 20},
                  {"target_vocabulary", 30},
                  {"begin", 4},
                  {"end", 5},
                  {"unknown", 6},
                  {"decoder_start", 7},
                  {"maximum_source_length", 8},
                  {"maximum_target_length", 9}};
  for (const auto& [key, value] : changes.items()) json[key] = value;
  return json;
}

std::string refusal(const core::Json& changes) {
  return error_of([&] { read_sequence_spec(spec_json(changes), "config.json"); });
}

TEST(SequenceSpec, EveryKeySurvivesTheRoundTrip) {
  EXPECT_EQ(to_json(read_sequence_spec(spec_json(), "config.json")), spec_json());
}

TEST(SequenceSpec, WhatCannotBeIsRefusedWithItsKey) {
  EXPECT_THAT(refusal({{"source_vocabulary", 0}}), HasSubstr("config.json: source_vocabulary: must lie in 1 .. 2^24"));
  EXPECT_THAT(refusal({{"target_vocabulary", (1 << 24) + 1}}), HasSubstr("target_vocabulary: must lie in"));
  for (const char* key : {"begin", "end", "unknown", "decoder_start"}) {
    EXPECT_THAT(refusal({{key, 30}}), HasSubstr(std::string(key) + ": is not an id of the target vocabulary"));
    EXPECT_THAT(refusal({{key, -1}}), HasSubstr(std::string(key) + ": is not an id of the target vocabulary"));
  }
  EXPECT_THAT(refusal({{"end", 25}}), HasSubstr("ids of the source vocabulary, too"));
  EXPECT_THAT(refusal({{"unknown", 25}}), HasSubstr("ids of the source vocabulary, too"));
  EXPECT_THAT(refusal({{"maximum_source_length", 1}}), HasSubstr("maximum_source_length: must lie in 2 .. 65536"));
  EXPECT_THAT(refusal({{"maximum_target_length", 65537}}), HasSubstr("maximum_target_length: must lie in 2 .. 65536"));
  EXPECT_THAT(refusal({{"endd", 5}}), HasSubstr("did you mean 'end'"));
  EXPECT_EQ(refusal({{"begin", 29}}), "no error");
}

/// A model without layers: what is looked at here is what the base class does for every model.
class NoLayers final : public Seq2SeqModel {
 public:
  explicit NoLayers(const SequenceSpec& spec) : Seq2SeqModel(spec) { mutable_layout().add_history(4); }
  std::vector<KeyValue> memories(Context&, const Encoding&) const override { return {}; }
  ops::Projection output() const override { return {}; }
  core::Json config() const override { return core::Json::object(); }

 protected:
  Encoding run_encoder(Context&, const Sequences&, bool) const override { return {}; }
  Decoding run_decoder(Context&, const Sequences&, DecoderState&, bool) const override { return {}; }
};

class Seq2SeqModelTest : public ::testing::Test {
 protected:
  std::string source_refusal(const std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& offsets) {
    return error_of([&] { model_.prepare_source(context_, {tokens, offsets}); });
  }

  ReferenceContext reference_;
  tensor::Context& context_ = reference_.context;
  const NoLayers model_{read_sequence_spec(spec_json(), "config.json")};
};

TEST_F(Seq2SeqModelTest, SourcesArePreparedWithPositionsOfTheirOwn) {
  const std::vector<std::int32_t> tokens{9, 8, 5, 7, 5};
  const std::vector<std::int32_t> offsets{0, 3, 5};
  const Sequences sources = model_.prepare_source(context_, {tokens, offsets});
  EXPECT_THAT(sources.positions.host, ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(sources.offsets.host, ElementsAre(0, 3, 5));
  const std::vector<std::int32_t> as_kernels_read_them(sources.tokens.device,
                                                       sources.tokens.device + sources.tokens.size());
  EXPECT_EQ(as_kernels_read_them, tokens);
}

TEST_F(Seq2SeqModelTest, SourcesThatTheModelCannotTakeAreRefused) {
  EXPECT_EQ(source_refusal({19, 0, 1, 2, 3, 4, 6, 5}, {0, 8}), "no error") << "the longest";
  EXPECT_THAT(source_refusal({1, 1, 1, 1, 1, 1, 1, 1, 5, 5}, {0, 9, 10}), HasSubstr("source 0 of the batch has 9"));
  EXPECT_THAT(source_refusal({1, 5}, {0, 2, 2}),
              HasSubstr("source 1 of the batch has 0 tokens; the model takes 1 to 8"));
  EXPECT_THAT(source_refusal({1, 20}, {0, 2}), HasSubstr("token 20 at position 1 is outside of the vocabulary of 20"));
  EXPECT_THAT(source_refusal({-1, 5}, {0, 2}), HasSubstr("token -1 at position 0"));
  EXPECT_THAT(source_refusal({1, 5}, {0, 1}), HasSubstr("offsets must start at 0 and end at the number of tokens, 2"));
  EXPECT_THAT(source_refusal({1, 5}, {0, 2, 1, 2}), HasSubstr("offsets fall from 2 to 1"));
}

TEST_F(Seq2SeqModelTest, TargetsEndWhereTheModelsPositionsDo) {
  PooledState state(context_, model_.state_layout());
  std::vector<std::int32_t> slot(1);
  state.admit(context_, std::vector<std::int32_t>{0, 1}, slot);
  const auto append = [&](const std::vector<std::int32_t>& tokens, std::int32_t parent) {
    state.set_rows(std::vector<RowRef>{{slot[0], parent}});
    const std::vector<std::int32_t> offsets{0, static_cast<std::int32_t>(tokens.size())};
    return model_.prepare_target(context_, {tokens, offsets}, state).positions.host;
  };
  append({7, 1, 2, 3, 4, 29, 1, 2}, -1);
  EXPECT_THAT(append({3}, 0), ElementsAre(8)) << "the ninth token";
  EXPECT_THAT(error_of([&] { append({3}, 0); }), HasSubstr("a target reaches position 9; the model takes 9"));
  EXPECT_THAT(error_of([&] { append({30}, -1); }), HasSubstr("token 30 at position 0 is outside"));
}

}  // namespace
}  // namespace dragoman::nn
