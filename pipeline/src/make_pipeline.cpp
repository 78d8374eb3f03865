#include "dragoman/pipeline/pipeline.h"
#include "dragoman/pipeline/translator.h"
#include "split_stage.h"
#include "text_stages.h"

#include <memory>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;
using core::Json;

/// Options may be written with '-' (as on the command line) or '_'.
Json with_underscores(const Json& options) {
  if (!options.is_object()) return options;
  Json result = Json::object();
  for (const auto& [key, value] : options.items()) {
    std::string name = key;
    for (char& c : name) c = c == '-' ? '_' : c;
    result[name] = value;
  }
  return result;
}

ReadOptions read_options(core::OptionReader& options) {
  ReadOptions read;
  read.path = options.get("path", "-");
  read.format = parse_record_format(options.get("format", "text"));
  read.key = options.get("key", read.key);
  read.column = options.get("column", read.column);
  return read;
}

WriteOptions write_options(core::OptionReader& options) {
  WriteOptions write;
  write.path = options.get("path", "-");
  write.format = parse_record_format(options.get("format", "text"));
  write.column = options.get("column", write.column);
  write.resume = options.get("resume", false);
  return write;
}

/// The translate stage together with the model that it uses.
class TranslateStage final : public Service {
 public:
  TranslateStage(const std::string& model, plugins::Host& host, TranslateOptions options)
      : model_(model, host, options.device), service_(host.runtime(), model_.view(), std::move(options)) {}
  void run(RecordSource& source, RecordSink& sink, const std::stop_token& stop) override {
    service_.run(source, sink, stop);
  }
  void add_counts(LineCounts& counts) const override { service_.add_counts(counts); }

 private:
  LoadedTranslationModel model_;
  TranslateService service_;
};

class Builder {
 public:
  Builder(plugins::Host& host, int threads) : host_(&host), threads_(threads) {}

  void add(const std::string& name, core::OptionReader& options) {
    if (name == "read")
      pipeline_.read(read_options(options));
    else if (name == "write")
      pipeline_.write(write_options(options));
    else if (name == "translate")
      pipeline_.add(translate_stage(options));
    else if (name == "split")
      pipeline_.add(std::make_unique<SplitStage>(options.get("locale", "en")));
    else if (name == "normalize")
      pipeline_.add(make_normalize_stage(options));
    else if (name == "encode")
      pipeline_.add(make_encode_stage(options));
    else if (name == "decode")
      pipeline_.add(make_decode_stage(options));
    else
      pipeline_.add(registered_stage(name, options));
    options.finish();
  }
  Pipeline take() { return std::move(pipeline_); }

 private:
  std::unique_ptr<Service> translate_stage(core::OptionReader& options) {
    const auto model = options.require_key<std::string>("model");
    TranslateOptions translate = read_translate_options(options, host_->registry());
    if (translate.threads == 0) translate.threads = threads_;
    return std::make_unique<TranslateStage>(model, *host_, std::move(translate));
  }

  std::unique_ptr<const MapStage> registered_stage(const std::string& name, core::OptionReader& options) {
    const std::vector<std::string> built_in = {"read", "write", "translate", "split", "normalize", "encode", "decode"};
    if (host_->registry().stages().find(name) == nullptr)
      if (const std::string nearest = core::nearest_name(name, built_in); !nearest.empty())
        core::fail(ErrorCode::kBadInput, "{}: no stage is called '{}'; did you mean '{}'?", options.where(), name,
                   nearest);
    return host_->registry().stages().get(name).make(options);
  }

  plugins::Host* host_;
  int threads_;
  Pipeline pipeline_;
};

}  // namespace

Pipeline make_pipeline(const core::Json& configuration, const std::string& where, plugins::Host& host, int threads) {
  core::OptionReader top(configuration, where);
  const Json& stages = top.subtree("stages");
  core::require(stages.is_array() && !stages.empty(), ErrorCode::kBadInput, "{}: stages: expected a list of stages",
                where);
  top.finish();
  Builder builder(host, threads);
  std::size_t number = 0;
  for (const Json& stage : stages) {
    ++number;
    core::require(stage.is_object() && stage.size() == 1, ErrorCode::kBadInput,
                  "{}: stage {}: write it as `- name: {{options}}`, one name per list entry", where, number);
    const std::string name = stage.begin().key();
    const Json options = with_underscores(stage.begin().value());
    core::OptionReader reader(options, fmt::format("{}: stage {} ({})", where, number, name));
    builder.add(name, reader);
  }
  return builder.take();
}

}  // namespace dragoman::pipeline
