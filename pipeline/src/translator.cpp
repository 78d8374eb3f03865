#include "dragoman/pipeline/translator.h"

#include "dragoman/pipeline/line_policy.h"

#include <mutex>

#include <dragoman/formats/model_folder.h>

namespace dragoman::pipeline {
namespace {

class VectorSource final : public RecordSource {
 public:
  explicit VectorSource(std::vector<Record>& records) : records_(&records) {}
  std::optional<Record> next() override {
    return position_ == records_->size() ? std::nullopt : std::optional(std::move((*records_)[position_++]));
  }

 private:
  std::vector<Record>* records_;
  std::size_t position_ = 0;
};

class VectorSink final : public RecordSink {
 public:
  bool put(Record record) override {
    records.push_back(std::move(record));
    return true;
  }
  std::vector<Record> records;
};

}  // namespace

LoadedTranslationModel::LoadedTranslationModel(const std::filesystem::path& folder, plugins::Host& host,
                                               tensor::Device device, bool allow_non_finite)
    : loaded_(plugins::load_model(folder, host, {.device = device})) {
  core::SequentialExecutor executor;
  const auto context = host.runtime().make_context(device, executor);
  const std::string checked = allow_non_finite ? std::string() : (folder / formats::ModelFiles::kWeights).string();
  loaded_.model->parameters().prepare(*context, tensor::ComputeType::kF32, {.refuse_non_finite_of = checked});
}

struct Translator::Impl {
  Impl(const std::filesystem::path& folder, plugins::Host& host, TranslateOptions options)
      : model(folder, host, options.device, options.allow_non_finite),
        service(host.runtime(), model.view(), std::move(options)) {}
  LoadedTranslationModel model;
  TranslateService service;
  std::mutex mutex;
};

Translator::Translator(const std::filesystem::path& model_folder, plugins::Host& host, TranslateOptions options)
    : impl_(std::make_unique<Impl>(model_folder, host, std::move(options))) {}
Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;
Translator& Translator::operator=(Translator&&) noexcept = default;

std::vector<Record> Translator::translate(std::vector<Record> records) {
  const std::lock_guard lock(impl_->mutex);
  VectorSource source(records);
  VectorSink sink;
  impl_->service.run(source, sink, std::stop_source());
  return std::move(sink.records);
}

std::vector<std::string> Translator::translate(std::span<const std::string> lines) {
  std::vector<Record> records(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    records[i].line = i + 1;
    records[i].text = lines[i];
    clean_line(records[i].text);
  }
  std::vector<std::string> results;
  for (Record& record : translate(std::move(records))) results.push_back(std::move(record.text));
  return results;
}

std::string Translator::translate(std::string_view text) {
  const std::string line(text);
  return std::move(translate(std::span(&line, 1)).front());
}

}  // namespace dragoman::pipeline
