#include "dragoman/pipeline/compute_comparison.h"

#include "dragoman/pipeline/translator.h"
#include "forced_pair.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/random.h>

namespace dragoman::pipeline {
namespace {

/// A model in one number type on one device, with its context.
struct PackedModel {
  PackedModel(const std::filesystem::path& folder, plugins::Host& host, core::Executor& executor,
              const ModelOptions& options)
      : model(folder, host, options), context(host.runtime().make_context(model.device(), executor)) {}

  decoding::ModelComparator::Computation computation() const { return {model.view().model, context.get()}; }

  Model model;
  std::unique_ptr<tensor::Context> context;
};

std::vector<std::int32_t> ordinary_tokens(const tokenizer::Tokenizer& tokenizer) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id)
    if (!tokenizer.is_special(id)) tokens.push_back(id);
  return tokens;
}

}  // namespace

struct ComputeComparer::Impl {
  Impl(const std::filesystem::path& folder, plugins::Host& host, const ComputeComparisonOptions& options)
      : executor(core::make_executor(options.threads)) {
    const auto load = [&](tensor::Device device, tensor::ComputeChoice type) {
      models.push_back(std::make_unique<PackedModel>(folder, host, *executor,
                                                     ModelOptions{.threads = options.threads,
                                                                  .device = device,
                                                                  .compute = type,
                                                                  .allow_non_finite = options.allow_non_finite}));
    };
    std::vector<tensor::ComputeChoice> types = options.types;
    if (options.against_double) types.insert(types.begin(), tensor::ComputeChoice::kF32);
    load(options.against_double ? tensor::Device::kReference : tensor::Device::kCpu, tensor::ComputeChoice::kF32);
    std::vector<decoding::ModelComparator::Computation> others;
    for (const tensor::ComputeChoice type : types) {
      load(tensor::Device::kCpu, type);
      others.push_back(models.back()->computation());
      report.types.push_back({std::string(tensor::name_of(models.back()->model.compute_type()))});
    }
    report.reference = options.against_double ? "fp64" : "fp32";
    comparator.emplace(models.front()->computation(), std::move(others));
  }

  ModelView view() const { return models.front()->model.view(); }

  void read(const std::vector<std::int32_t>& source, const std::vector<std::int32_t>& target,
            const std::stop_token& stop) {
    if (stop.stop_requested()) core::fail(core::ErrorCode::kInterrupted, "interrupted while number types are compared");
    add(sources, source);
    add(targets, target);
    ++report.sentences;
    constexpr std::size_t kEnough = 256;
    if (sources.tokens.size() + targets.tokens.size() >= kEnough) flush();
  }

  void flush() {
    if (sources.offsets.size() == 1) return;
    comparator->read({sources.tokens, sources.offsets}, {targets.tokens, targets.offsets});
    sources = {};
    targets = {};
  }

  struct Sequences {
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> offsets{0};
  };
  static void add(Sequences& to, const std::vector<std::int32_t>& sequence) {
    to.tokens.insert(to.tokens.end(), sequence.begin(), sequence.end());
    to.offsets.push_back(static_cast<std::int32_t>(to.tokens.size()));
  }

  std::unique_ptr<core::Executor> executor;
  std::vector<std::unique_ptr<PackedModel>> models;  ///< the reference first
  std::optional<decoding::ModelComparator> comparator;
  ComputeComparison report;
  Sequences sources;
  Sequences targets;
};

ComputeComparer::ComputeComparer(const std::filesystem::path& model_folder, plugins::Host& host,
                                 const ComputeComparisonOptions& options)
    : impl_(std::make_unique<Impl>(model_folder, host, options)) {}
ComputeComparer::~ComputeComparer() = default;
ComputeComparer::ComputeComparer(ComputeComparer&&) noexcept = default;
ComputeComparer& ComputeComparer::operator=(ComputeComparer&&) noexcept = default;

void ComputeComparer::read(std::vector<LinePair> pairs, const std::stop_token& stop) {
  for (LinePair& pair : pairs) {
    const engine::ScoreRequest request = forced_pair(impl_->view(), pair).request;
    impl_->read(request.source, request.target, stop);
  }
  impl_->flush();
}

void ComputeComparer::read_random(std::size_t count, const std::stop_token& stop) {
  constexpr std::uint64_t kShortest = 5;
  constexpr std::uint64_t kLongest = 25;
  const ModelView view = impl_->view();
  const nn::SequenceSpec& spec = view.model->spec();
  const auto draw = [&](const std::vector<std::int32_t>& tokens, std::int32_t most, std::uint64_t stream) {
    std::vector<std::int32_t> sequence;
    const std::uint64_t wanted = kShortest + core::random_below(kLongest - kShortest + 1, 0, stream, 0);
    const std::uint64_t length = std::min(wanted, static_cast<std::uint64_t>(most - 1));
    for (std::uint64_t i = 1; i <= length && !tokens.empty(); ++i)
      sequence.push_back(tokens[core::random_below(tokens.size(), 0, stream, i)]);
    return sequence;
  };
  const auto source_tokens = ordinary_tokens(*view.source_tokenizer);
  const auto target_tokens = ordinary_tokens(*view.target_tokenizer);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto source = draw(source_tokens, spec.maximum_source_length, 2 * i);
    source.push_back(spec.end);
    impl_->read(source, draw(target_tokens, spec.maximum_target_length, 2 * i + 1), stop);
  }
  impl_->flush();
}

ComputeComparison ComputeComparer::result() const {
  ComputeComparison report = impl_->report;
  const auto comparisons = impl_->comparator->result();
  for (std::size_t i = 0; i < comparisons.size(); ++i) report.types[i].comparison = comparisons[i];
  report.source_tokens = impl_->comparator->source_tokens();
  report.target_tokens = impl_->comparator->target_tokens();
  return report;
}

}  // namespace dragoman::pipeline
