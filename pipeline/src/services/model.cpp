#include "dragoman/pipeline/model.h"

#include "dragoman/pipeline/ensemble.h"
#include "dragoman/pipeline/lexicon_builder.h"
#include "dragoman/pipeline/model_view.h"
#include "dragoman/pipeline/translate_service.h"

#include <map>
#include <mutex>
#include <tuple>

#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/plugins/host.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::pipeline {
namespace {

tensor::ComputeType find_compute_type(const std::filesystem::path& folder, const plugins::Host& host,
                                      tensor::Device device, const ModelOptions& options,
                                      std::optional<tensor::ComputeChoice> stored) {
  const bool asks_the_folder = !options.compute || (*options.compute == tensor::ComputeChoice::kAuto && stored);
  if (!asks_the_folder) return host.runtime().inference_type(device, *options.compute);
  try {
    return host.runtime().inference_type(device, stored.value_or(tensor::ComputeChoice::kF32));
  } catch (const core::Error& error) {
    core::fail_option("compute", error.code(), "{}: compute: {}; choose another type with `compute`",
                      (folder / formats::ModelFiles::kConfig).string(), error.what());
  }
}

/// Checks that equal ids are equal pieces in all models of an ensemble. It compares model folders before their weights
/// are read.
void require_same_tokenizers(const std::filesystem::path& folder, const std::filesystem::path& first) {
  using formats::ModelFiles;
  const auto demand = [&](bool same, std::string_view what) {
    core::require(same, core::ErrorCode::kBadInput,
                  "{}: {} is another than in {}; models that translate together have the same tokenizers",
                  folder.string(), what, first.string());
  };
  demand(formats::load_model_config(folder).tokenizers == formats::load_model_config(first).tokenizers,
         "config.json: tokenizer");
  demand(formats::load_model_config(folder).languages == formats::load_model_config(first).languages,
         "config.json: languages");
  for (const char* name : ModelFiles::kTokenizers) {
    const bool there = std::filesystem::exists(folder / name);
    demand(there == std::filesystem::exists(first / name) &&
               (!there || formats::sha256_of_file(folder / name) == formats::sha256_of_file(first / name)),
           name);
  }
}

bool have_same_pieces(const tokenizer::Tokenizer& a, const tokenizer::Tokenizer& b) {
  if (a.size() != b.size()) return false;
  for (std::int32_t id = 0; id < a.size(); ++id)
    if (a.piece(id) != b.piece(id)) return false;
  return true;
}

/// Checks pairs with a model of another toolkit, whose tokenizer files may differ although the pieces are equal.
void require_same_pieces(const plugins::LoadedModel& model, const std::filesystem::path& path,
                         const plugins::LoadedModel& first, const std::filesystem::path& first_path) {
  const auto demand = [&](bool same, std::string_view what) {
    core::require(same, core::ErrorCode::kBadInput,
                  "{}: {} other than those of {}; models that translate together need the same pieces and languages",
                  path.string(), what, first_path.string());
  };
  demand(have_same_pieces(*model.source_tokenizer, *first.source_tokenizer), "the pieces of the source are");
  demand(have_same_pieces(*model.target_tokenizer, *first.target_tokenizer), "the pieces of the target are");
  demand(model.config.languages == first.config.languages, "its languages are");
}

}  // namespace

tensor::Device DeviceChoice::resolve(plugins::Host& host) const {
  return name_.empty() ? device_ : host.device(name_);
}

struct Model::Impl {
  Impl(const std::filesystem::path& folder, plugins::Host& model_host, const ModelOptions& model_options)
      : path(folder),
        options(model_options),
        host(&model_host),
        device(options.device.resolve(model_host)),
        loaded(plugins::load_model(folder, model_host, {.device = device})),
        compute_type(find_compute_type(folder, model_host, device, options, loaded.config.compute)),
        search_defaults(decoding::read_model_defaults(
            loaded.config.decoding, (folder / formats::ModelFiles::kConfig).string() + ": decoding")) {
    const auto executor = core::make_executor(options.threads);
    const auto context = host->runtime().make_context(device, *executor);
    const std::string file = (folder / formats::ModelFiles::kWeights).string();
    loaded.model->parameters().prepare(*context, compute_type,
                                       {.refuse_non_finite_of = options.allow_non_finite ? std::string() : file,
                                        .non_finite_hint = "`allow_non_finite` uses it all the same"});
  }

  void add_others(const EnsembleOptions& ensemble) {
    weights = ensemble.weights;
    mean = ensemble.mean;
    for (const std::string& other : ensemble.models) {
      const bool folders = formats::is_model_folder(path) && formats::is_model_folder(other);
      if (folders) require_same_tokenizers(other, path);
      others.emplace_back(other, *host, options);
      if (!folders) require_same_pieces(others.back().impl_->loaded, other, loaded, path);
    }
    try {
      view().spec();
    } catch (const core::Error& error) {
      core::fail(core::ErrorCode::kBadInput, "{}: {}", path.string(), error.what());
    }
  }

  ModelView view() const {
    ModelView view{loaded.model.get(), loaded.source_tokenizer.get(), loaded.target_tokenizer.get()};
    if (!loaded.config.languages.empty()) view.languages = &loaded.config.languages;
    view.search_defaults = search_defaults;
    if (others.empty() && weights.empty()) return view;
    view.ensemble = {.models = {view.model}, .weights = weights, .mean = mean};
    for (const Model& other : others) view.ensemble.models.push_back(other.impl_->loaded.model.get());
    return view;
  }

  std::filesystem::path path;
  ModelOptions options;
  plugins::Host* host;
  tensor::Device device;
  plugins::LoadedModel loaded;
  tensor::ComputeType compute_type;
  decoding::Search search_defaults;
  std::vector<Model> others;  ///< the other models of an ensemble
  std::vector<double> weights;
  decoding::EnsembleMean mean = decoding::EnsembleMean::kProbability;

  std::mutex mutex;  ///< guards the members below, which are created on demand
  using ShortlistKey = std::tuple<std::string, std::int64_t, std::int64_t>;
  std::map<ShortlistKey, std::shared_ptr<const decoding::Shortlist>> shortlists;
  std::unique_ptr<engine::TranslationEngine> engine;
};

Model::Model(const std::filesystem::path& path, const ModelOptions& options, const std::stop_token& stop)
    : Model(path, plugins::default_host(), options, stop) {}
Model::Model(const std::filesystem::path& path, plugins::Host& host, const ModelOptions& options,
             const std::stop_token& stop) {
  const core::StopScope scope(stop);
  core::check_stop("opening a model");
  impl_ = std::make_shared<Impl>(path, host, options);
}
Model::Model(const std::filesystem::path& path, plugins::Host& host, const ModelOptions& options,
             const EnsembleOptions& ensemble, const std::stop_token& stop)
    : Model(path, host, options, stop) {
  const core::StopScope scope(stop);
  impl_->add_others(ensemble);
}

const std::filesystem::path& Model::path() const noexcept {
  return impl_->path;
}
const ModelOptions& Model::options() const noexcept {
  return impl_->options;
}
plugins::Host& Model::host() const noexcept {
  return *impl_->host;
}
tensor::Device Model::device() const noexcept {
  return impl_->device;
}
const std::vector<Model>& Model::others() const noexcept {
  return impl_->others;
}
tensor::ComputeType Model::compute_type() const noexcept {
  return impl_->compute_type;
}
const formats::ModelConfig& Model::config() const noexcept {
  return impl_->loaded.config;
}
const std::shared_ptr<const tokenizer::Tokenizer>& Model::source_tokenizer() const noexcept {
  return impl_->loaded.source_tokenizer;
}
const std::shared_ptr<const tokenizer::Tokenizer>& Model::target_tokenizer() const noexcept {
  return impl_->loaded.target_tokenizer;
}

ModelView Model::view() const {
  return impl_->view();
}

engine::TranslationEngine& Model::engine() const {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->engine == nullptr)
    impl_->engine = std::make_unique<engine::TranslationEngine>(impl_->host->runtime(), impl_->view().models(),
                                                                engine::EngineOptions{.threads = impl_->options.threads,
                                                                                      .latency = impl_->options.latency,
                                                                                      .device = impl_->device,
                                                                                      .limits = impl_->options.limits});
  return *impl_->engine;
}

std::shared_ptr<const decoding::Shortlist> Model::shortlist(const ShortlistSettings& settings) const {
  if (settings.path == ShortlistSettings::kNone) return nullptr;
  const bool own = settings.path.empty();
  if (own && !impl_->loaded.config.decoding.contains(decoding::kShortlistKey)) return nullptr;
  if (!impl_->others.empty()) {
    core::require(own, core::ErrorCode::kUnsupported,
                  "an ensemble needs the whole distribution of each model, so a shortlist would save nothing; leave "
                  "one of them out");
    return nullptr;
  }
  const std::lock_guard lock(impl_->mutex);
  const std::string path = own ? (impl_->path / formats::ModelFiles::kShortlist).string() : settings.path;
  auto& place = impl_->shortlists[{path, settings.limits.first, settings.limits.best}];
  if (place == nullptr)
    place = std::make_shared<const decoding::Shortlist>(
        decoding::Shortlist::read(path,
                                  shortlist_vocabularies(impl_->loaded.model->spec(), *impl_->loaded.source_tokenizer,
                                                         *impl_->loaded.target_tokenizer),
                                  settings.limits));
  return place;
}

}  // namespace dragoman::pipeline
