#include "arrays.h"
#include "call.h"
#include "parts.h"
#include "with_threads.h"

#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <dragoman/core/option_error.h>
#include <dragoman/dragoman.h>

namespace dragoman::python {
namespace {

using ModelHandle = WithThreads<Model>;
using ScorerHandle = WithThreads<Scorer>;
using EmbedderHandle = WithThreads<Embedder>;
using AlignerHandle = WithThreads<Aligner>;
using Texts = std::vector<std::string>;

std::vector<SentencePair> to_pairs(const Texts& sources, const Texts& targets) {
  core::require(sources.size() == targets.size(), ErrorCode::kInvalidArgument,
                "there are {} sources and {} targets; each source needs its target", sources.size(), targets.size());
  std::vector<SentencePair> pairs;
  for (std::size_t i = 0; i < sources.size(); ++i) pairs.push_back({sources[i], targets[i]});
  return pairs;
}

nb::list score_batch(const ScorerHandle& self, const Texts& sources, const Texts& targets) {
  BlockingCall call;
  const auto pairs = to_pairs(sources, targets);
  std::vector<Score> scores = call.run([&] { return self.get().score_batch(pairs, call.stop()); });
  nb::list made;
  for (Score& score : scores)
    made.append(nb::make_tuple(score.score, score.log_probability, to_list(score.tokens),
                               to_array(std::move(score.token_scores))));
  return made;
}

EmbedderHandle make_embedder(const ModelHandle& model, const std::string& pooling, std::optional<int> layer,
                             bool cut_long_texts) {
  EmbedderOptions options{.layer = layer, .cut_long_texts = cut_long_texts};
  if (pooling == "first") {
    options.pooling = Pooling::kFirst;
  } else if (pooling == "max") {
    options.pooling = Pooling::kMax;
  } else {
    core::require_option(pooling == "mean", "pooling", ErrorCode::kInvalidArgument,
                         "`pooling` is \"{}\"; it must be mean, first or max", pooling);
  }
  return EmbedderHandle(Embedder(model.get(), options));
}

nb::ndarray<nb::numpy, float> embed_batch(const EmbedderHandle& self, const Texts& texts) {
  BlockingCall call;
  const auto vectors = call.run([&] { return self.get().embed_batch(texts, call.stop()); });
  const std::size_t width = vectors.empty() ? 0 : vectors.front().size();
  std::vector<float> values;
  values.reserve(vectors.size() * width);
  for (const auto& vector : vectors) values.insert(values.end(), vector.begin(), vector.end());
  return to_array(std::move(values), {vectors.size(), width});
}

nb::tuple embed_tokens(const EmbedderHandle& self, const std::string& text) {
  BlockingCall call;
  TokenVectors vectors = call.run([&] { return self.get().embed_tokens(text); });
  const std::size_t tokens = vectors.tokens.size();
  return nb::make_tuple(to_list(vectors.tokens), to_array(std::move(vectors.values), {tokens, vectors.width}));
}

nb::list align_batch(const AlignerHandle& self, const Texts& sources, const Texts& targets) {
  BlockingCall call;
  const auto pairs = to_pairs(sources, targets);
  const std::vector<Alignment> alignments = call.run([&] { return self.get().align_batch(pairs, call.stop()); });
  nb::list made;
  for (const Alignment& alignment : alignments) {
    nb::list links;
    for (const Link& link : alignment.links) links.append(nb::make_tuple(link.source, link.target));
    made.append(nb::make_tuple(links, to_list(alignment.source), to_list(alignment.target)));
  }
  return made;
}

}  // namespace

void add_services(nb::module_& module) {
  nb::class_<ScorerHandle>(module, "Scorer")
      .def(nb::new_([](const ModelHandle& model, const std::string& length_penalty, std::optional<double> alpha,
                       const std::string& source_language, const std::string& target_language) {
             return ScorerHandle(Scorer(model.get(), {.length_penalty = length_penalty,
                                                      .alpha = alpha,
                                                      .source_language = source_language,
                                                      .target_language = target_language}));
           }),
           nb::arg("model"), nb::arg("length_penalty"), nb::arg("alpha").none(), nb::arg("source_language"),
           nb::arg("target_language"))
      .def("score_batch", &score_batch, nb::arg("sources"), nb::arg("targets"));
  nb::class_<EmbedderHandle>(module, "Embedder")
      .def(nb::new_(&make_embedder), nb::arg("model"), nb::arg("pooling"), nb::arg("layer").none(),
           nb::arg("cut_long_texts"))
      .def("embed_batch", &embed_batch, nb::arg("texts"))
      .def("embed_tokens", &embed_tokens, nb::arg("text"));
  nb::class_<AlignerHandle>(module, "Aligner")
      .def(nb::new_([](const ModelHandle& model, const ModelHandle* reverse, const std::string& symmetrize, bool tokens,
                       std::optional<int> layer, double threshold) {
             AlignerOptions options{.symmetrize = symmetrize, .tokens = tokens, .layer = layer, .threshold = threshold};
             if (reverse != nullptr) options.reverse_model = reverse->get();
             return AlignerHandle(Aligner(model.get(), options));
           }),
           nb::arg("model"), nb::arg("reverse").none(), nb::arg("symmetrize"), nb::arg("tokens"),
           nb::arg("layer").none(), nb::arg("threshold"))
      .def("align_batch", &align_batch, nb::arg("sources"), nb::arg("targets"));
}

}  // namespace dragoman::python
