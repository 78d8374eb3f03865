#include "dragoman/decoding/decoding_loop.h"

namespace dragoman::decoding {
namespace {

class ListSource final : public SentenceSource {
 public:
  explicit ListSource(const std::vector<Sentence>& sentences) : sentences_(&sentences) {}
  Supply next(Sentence& sentence, bool) override {
    if (position_ == sentences_->size()) return Supply::kEnd;
    sentence = (*sentences_)[position_];
    sentence.id = position_++;
    return Supply::kSentence;
  }

 private:
  const std::vector<Sentence>* sentences_;
  std::size_t position_ = 0;
};

class ListSink final : public HypothesisSink {
 public:
  explicit ListSink(std::size_t size) : results(size) {}
  void deliver(std::uint64_t id, std::vector<Hypothesis> hypotheses) override { results[id] = std::move(hypotheses); }

  std::vector<std::vector<Hypothesis>> results;
};

}  // namespace

std::vector<std::vector<Hypothesis>> decode_all(StepModel& model, const std::vector<Sentence>& sentences,
                                                const DecodingOptions& options, const LoopLimits& limits) {
  return decode_all(model, sentences, std::make_shared<const SearchPlan>(options), limits);
}

std::vector<std::vector<Hypothesis>> decode_all(StepModel& model, const std::vector<Sentence>& sentences,
                                                SharedSearch usual, const LoopLimits& limits) {
  DecodingLoop loop(model, std::move(usual), limits);
  ListSource source(sentences);
  ListSink sink(sentences.size());
  loop.run(source, sink);
  return std::move(sink.results);
}

}  // namespace dragoman::decoding
