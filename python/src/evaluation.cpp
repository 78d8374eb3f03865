#include "arrays.h"
#include "call.h"
#include "parts.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <dragoman/core/option_error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/evaluation/bootstrap.h>
#include <dragoman/evaluation/chrf.h>
#include <dragoman/evaluation/mecab_tokenizer.h>
#include <dragoman/evaluation/significance.h>
#include <dragoman/evaluation/ter.h>

namespace dragoman::python {
namespace {

using namespace evaluation;
using Texts = std::vector<std::string>;
using MetricHandle = std::shared_ptr<const Metric>;

BleuTokenizer find_tokenizer(const std::string& name) {
  for (const BleuTokenizer each : {BleuTokenizer::k13a, BleuTokenizer::kInternational, BleuTokenizer::kCharacter,
                                   BleuTokenizer::kNone, BleuTokenizer::kChinese})
    if (tokenizer_name(each) == name) return each;
  core::fail_option("tokenize", core::ErrorCode::kInvalidArgument,
                    "`tokenize` is \"{}\"; it must be 13a, intl, char, none or zh", name);
}

/// `separate` may be a Python function; then `tokenize` is its name in signatures.
MetricHandle make_bleu(const std::string& tokenize, const nb::object& separate, const std::string& smooth,
                       std::optional<double> smooth_value, bool lowercase, bool effective_order, int max_order) {
  BleuOptions options{.smoothing_value = smooth_value,
                      .lowercase = lowercase,
                      .effective_order = effective_order,
                      .max_order = max_order};
  if (separate.is_none()) {
    options.tokenizer = find_tokenizer(tokenize);
  } else {
    options.other_tokenizer = {tokenize, [shared = SharedObject(separate)](std::string_view segment) {
                                 const CallbackScope scope;
                                 return nb::cast<std::string>(shared.get()(to_str(segment)));
                               }};
  }
  const std::vector<std::pair<std::string_view, BleuSmoothing>> smoothings{{"none", BleuSmoothing::kNone},
                                                                           {"floor", BleuSmoothing::kFloor},
                                                                           {"add-k", BleuSmoothing::kAddK},
                                                                           {"exp", BleuSmoothing::kExponential}};
  bool known = false;
  for (const auto& [name, value] : smoothings) {
    if (name != smooth) continue;
    options.smoothing = value;
    known = true;
  }
  core::require_option(known, "smooth", core::ErrorCode::kInvalidArgument,
                       "`smooth` is \"{}\"; it must be none, floor, add-k or exp", smooth);
  return std::make_shared<Bleu>(options);
}

/// One segment, with the references that it has.
std::vector<double> count_segment(const Metric& metric, const std::string& hypothesis, const Texts& references) {
  core::require(!references.empty(), core::ErrorCode::kInvalidArgument, "a segment needs at least one reference");
  std::vector<double> statistics(metric.statistics_size());
  const std::vector<std::string_view> views(references.begin(), references.end());
  const auto count = [&] { metric.count_segment(hypothesis, views, statistics); };
  constexpr std::size_t kShort = 1000;  // bytes: starting a thread for them takes longer
  std::size_t bytes = hypothesis.size();
  for (const std::string& reference : references) bytes += reference.size();
  if (bytes < kShort) {
    count();
  } else {
    BlockingCall call;
    call.run_stoppable(count);
  }
  return statistics;
}

SegmentStatistics to_statistics(const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& array,
                                std::size_t references) {
  SegmentStatistics statistics(array.shape(0), array.shape(1), references);
  for (std::size_t i = 0; i < statistics.segments(); ++i)
    std::copy_n(array.data() + i * array.shape(1), array.shape(1), statistics.row(i).begin());
  return statistics;
}

using Statistics = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sum = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const double> checked(const Metric& metric, const Sum& sum) {
  core::require(sum.size() == metric.statistics_size(), core::ErrorCode::kInvalidArgument,
                "{} statistics were given; {} has {}", sum.size(), metric.name(), metric.statistics_size());
  return {sum.data(), sum.size()};
}

nb::ndarray<nb::numpy, double> count_segments(const Metric& metric, const Texts& hypotheses,
                                              const std::vector<Texts>& references) {
  BlockingCall call;
  const SegmentStatistics counted =
      call.run([&] { return evaluation::count_segments(metric, hypotheses, references, call.stop()); });
  std::vector<double> values;
  values.reserve(counted.segments() * counted.width());
  for (std::size_t i = 0; i < counted.segments(); ++i)
    values.insert(values.end(), counted.row(i).begin(), counted.row(i).end());
  return to_array(std::move(values), {counted.segments(), counted.width()});
}

nb::list paired_test(const Metric& metric, const std::vector<Statistics>& systems, std::size_t references,
                     const std::string& test, std::uint32_t samples, std::uint64_t seed) {
  std::vector<SegmentStatistics> counted;
  for (const Statistics& system : systems) counted.push_back(to_statistics(system, references));
  core::require_option(test == "bootstrap" || test == "randomization", "test", core::ErrorCode::kInvalidArgument,
                       "`test` is \"{}\"; it must be bootstrap or randomization", test);
  const PairedOptions options{
      .test = test == "bootstrap" ? PairedTest::kBootstrap : PairedTest::kApproximateRandomization,
      .samples = samples,
      .seed = seed};
  BlockingCall call;
  const auto results = call.run([&] { return evaluation::paired_test(metric, counted, options, call.stop()); });
  nb::list made;
  for (const PairedResult& result : results) {
    nb::object confidence = nb::none();
    if (result.confidence) confidence = nb::make_tuple(result.confidence->mean, result.confidence->half_width);
    made.append(nb::make_tuple(result.score, result.p_value, confidence));
  }
  return made;
}

/// The factors of a BLEU score: {score, brevity penalty, precisions}.
nb::tuple bleu_parts(const Metric& metric, const Sum& sum) {
  const auto* const bleu = dynamic_cast<const Bleu*>(&metric);
  core::require(bleu != nullptr, core::ErrorCode::kInvalidArgument, "only BLEU has precisions; this is {}",
                metric.name());
  const BleuParts parts = bleu->parts(checked(metric, sum));
  return nb::make_tuple(parts.score, parts.brevity_penalty, parts.precisions);
}

}  // namespace

void add_evaluation(nb::module_& module) {
  nb::class_<Metric>(module, "Metric")
      .def_prop_ro("name", &Metric::name)
      .def_prop_ro("higher_is_better", &Metric::higher_is_better)
      .def_prop_ro("signature_fields", &Metric::signature_fields)
      .def("count_segment", &count_segment, nb::arg("hypothesis"), nb::arg("references"))
      .def("count_segments", &count_segments, nb::arg("hypotheses"), nb::arg("references"))
      .def("value", [](const Metric& self, const Sum& sum) { return self.value(checked(self, sum)); })
      .def("details", [](const Metric& self, const Sum& sum) { return self.details(checked(self, sum)); })
      .def("bleu_parts", &bleu_parts)
      .def("pairwise",
           [](const Metric& self, const Texts& texts) {
             BlockingCall call;
             std::vector<double> scores = call.run_stoppable([&] { return self.pairwise(texts); });
             return to_array(std::move(scores), {texts.size(), texts.size()});
           })
      .def(
          "bootstrap",
          [](const Metric& self, const Statistics& array, std::size_t references, std::uint32_t samples,
             std::uint64_t seed) {
            const SegmentStatistics statistics = to_statistics(array, references);
            BlockingCall call;
            return to_array(call.run_stoppable(
                [&] { return bootstrap_values(self, statistics, {.samples = samples, .seed = seed}); }));
          },
          nb::arg("statistics"), nb::arg("references"), nb::arg("samples"), nb::arg("seed"))
      .def("paired_test", &paired_test, nb::arg("systems"), nb::arg("references"), nb::arg("test"), nb::arg("samples"),
           nb::arg("seed"))
      .def(
          "signature",
          [](const Metric& self, std::size_t references, const std::string& test, std::uint32_t samples,
             std::uint64_t seed) {
            if (test.empty()) return paired_signature(self, references, std::nullopt);
            return paired_signature(self, references,
                                    PairedOptions{.test = test == "bootstrap" ? PairedTest::kBootstrap
                                                                              : PairedTest::kApproximateRandomization,
                                                  .samples = samples,
                                                  .seed = seed});
          },
          nb::arg("references"), nb::arg("test"), nb::arg("samples"), nb::arg("seed"));
  module.def("bleu", &make_bleu, nb::arg("tokenize"), nb::arg("separate").none(), nb::arg("smooth"),
             nb::arg("smooth_value").none(), nb::arg("lowercase"), nb::arg("effective_order"), nb::arg("max_order"));
  module.def(
      "chrf",
      [](int char_order, int word_order, int beta, bool lowercase, bool whitespace,
         bool eps_smoothing) -> MetricHandle {
        return std::make_shared<Chrf>(ChrfOptions{char_order, word_order, beta, lowercase, whitespace, eps_smoothing});
      },
      nb::arg("char_order"), nb::arg("word_order"), nb::arg("beta"), nb::arg("lowercase"), nb::arg("whitespace"),
      nb::arg("eps_smoothing"));
  module.def(
      "ter",
      [](bool normalized, bool no_punct, bool asian_support, bool case_sensitive) -> MetricHandle {
        return std::make_shared<Ter>(TerOptions{normalized, no_punct, asian_support, case_sensitive});
      },
      nb::arg("normalized"), nb::arg("no_punct"), nb::arg("asian_support"), nb::arg("case_sensitive"));
  module.def(
      "tokenize_for_bleu",
      [](const std::string& segment, const std::string& tokenizer) {
        return tokenize(segment, find_tokenizer(tokenizer));
      },
      nb::arg("segment"), nb::arg("tokenizer"));
  module.def(
      "tokenize_for_ter",
      [](const std::string& segment, bool normalized, bool no_punct, bool asian_support, bool case_sensitive) {
        return tokenize_for_ter(segment, TerOptions{normalized, no_punct, asian_support, case_sensitive});
      },
      nb::arg("segment"), nb::arg("normalized"), nb::arg("no_punct"), nb::arg("asian_support"),
      nb::arg("case_sensitive"));
  nb::class_<OtherBleuTokenizer>(module, "MecabTokenizer")
      .def_static(
          "open",
          [](const std::optional<std::filesystem::path>& dictionary) {
            return dictionary ? make_mecab_tokenizer(*dictionary) : make_mecab_tokenizer();
          },
          nb::arg("dictionary").none())
      .def_ro("name", &OtherBleuTokenizer::name)
      .def("separate",
           [](const OtherBleuTokenizer& self, const std::string& segment) { return self.separate(segment); });
  module.def("confidence_interval", [](const std::vector<double>& values) {
    core::require(!values.empty(), core::ErrorCode::kInvalidArgument, "there are no values");
    const Confidence confidence = confidence_interval(values);
    return nb::make_tuple(confidence.mean, confidence.half_width);
  });
}

}  // namespace dragoman::python
