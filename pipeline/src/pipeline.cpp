#include "dragoman/pipeline/pipeline.h"

#include "channel.h"
#include "map_runner.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>

#include <dragoman/core/parallel.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;
using RecordChannel = Channel<Record>;
using Maps = std::vector<std::unique_ptr<const MapStage>>;

constexpr std::size_t kChannelBytes = std::size_t{4} << 20;

std::size_t weight_of(const Record& record) {
  return 256 + record.text.size();
}

class ChannelSource final : public RecordSource {
 public:
  explicit ChannelSource(RecordChannel& channel) : channel_(&channel) {}
  std::optional<Record> next() override { return channel_->pop(); }

 private:
  RecordChannel* channel_;
};

class ChannelSink final : public RecordSink {
 public:
  explicit ChannelSink(RecordChannel& channel) : channel_(&channel) {}
  void put(Record record) override {
    const std::size_t weight = weight_of(record);
    channel_->push(std::move(record), weight);
  }

 private:
  RecordChannel* channel_;
};

/// Feeds the first stage from the input file.
class ReaderSource final : public RecordSource {
 public:
  explicit ReaderSource(RecordReader& reader) : reader_(&reader) {}
  std::optional<Record> next() override { return reader_->next(); }

 private:
  RecordReader* reader_;
};

/// Writes what the last stage hands on, and counts.
class WriterSink final : public RecordSink {
 public:
  WriterSink(RecordWriter& writer, const PipelineOptions& options, const RecordReader& reader)
      : writer_(&writer), options_(&options), reader_(&reader), lines_kept_(writer.lines_kept()) {}

  void put(Record record) override {
    if (record.failed()) fail(record);
    writer_->write(record);
    ++counts_.lines;
    counts_.empty += record.text.empty() ? 1 : 0;
    writer_->flush();  // whoever waits for a line on the other end gets it; a call per line is nothing beside its
                       // translation
    report();
  }
  LineCounts& counts() { return counts_; }

 private:
  void fail(const Record& record) {
    core::require(!options_->fail_on_error, ErrorCode::kBadInput, "{}: line {}: {}", reader_->name(), record.line,
                  record.message);
    ++counts_.failed;
    core::log(options_->log, core::LogLevel::kWarning,
              fmt::format("{}: line {}: {}", reader_->name(), record.line, record.message));
  }
  void report() const {
    core::report(
        options_->progress,
        {.stage = "translate", .done = lines_kept_ + counts_.lines, .total = 0, .unit = "lines", .figures = {}});
  }

  RecordWriter* writer_;
  const PipelineOptions* options_;
  const RecordReader* reader_;
  std::uint64_t lines_kept_;
  LineCounts counts_;
};

/// The chain's links run on threads of their own with channels between them; the first error of any stops all.
class Chain {
 public:
  void add_link(std::function<void(RecordSource&, RecordSink&)> body) { links_.push_back(std::move(body)); }

  void run(RecordSource& source, RecordSink& sink, const std::stop_token& stop) {
    std::vector<std::unique_ptr<RecordChannel>> channels;
    for (std::size_t i = 1; i < links_.size(); ++i) channels.push_back(std::make_unique<RecordChannel>(kChannelBytes));
    const auto abort_all = [&] {
      for (const auto& channel : channels) channel->abort();
    };
    const std::stop_callback on_stop(stop, abort_all);
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < links_.size(); ++i)
        threads.emplace_back([&, i] {
          try {
            run_link(i, channels, source, sink);
          } catch (...) {
            keep(std::current_exception());
            abort_all();
          }
        });
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void run_link(std::size_t i, const std::vector<std::unique_ptr<RecordChannel>>& channels, RecordSource& source,
                RecordSink& sink) {
    std::optional<ChannelSource> from;
    std::optional<ChannelSink> to;
    if (i > 0) from.emplace(*channels[i - 1]);
    if (i + 1 < links_.size()) to.emplace(*channels[i]);
    links_[i](from ? static_cast<RecordSource&>(*from) : source, to ? static_cast<RecordSink&>(*to) : sink);
    if (to) channels[i]->close();
  }
  void keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

  std::vector<std::function<void(RecordSource&, RecordSink&)>> links_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

struct Pipeline::Impl {
  std::optional<ReadOptions> read;
  std::optional<WriteOptions> write;
  /// Neighbouring map stages form one link.
  std::vector<std::variant<Maps, std::unique_ptr<Service>>> links;

  void fill(Chain& chain, int threads, const std::stop_token& stop) {
    for (auto& link : links) {
      if (auto* service = std::get_if<std::unique_ptr<Service>>(&link))
        chain.add_link(
            [service, stop](RecordSource& source, RecordSink& sink) { (*service)->run(source, sink, stop); });
      else
        chain.add_link([&maps = std::get<Maps>(link), threads](RecordSource& source, RecordSink& sink) {
          run_maps(maps, threads, source, sink);
        });
    }
  }
};

Pipeline::Pipeline() : impl_(std::make_unique<Impl>()) {}
Pipeline::~Pipeline() = default;
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;

void Pipeline::read(ReadOptions options) {
  core::require(!impl_->read, ErrorCode::kInvalidArgument,
                "a pipeline reads from one place: there are two read stages");
  impl_->read = std::move(options);
}

void Pipeline::write(WriteOptions options) {
  core::require(!impl_->write, ErrorCode::kInvalidArgument,
                "a pipeline writes to one place: there are two write stages");
  impl_->write = std::move(options);
}

void Pipeline::add(std::unique_ptr<const MapStage> stage) {
  if (impl_->links.empty() || !std::holds_alternative<Maps>(impl_->links.back())) impl_->links.emplace_back(Maps{});
  std::get<Maps>(impl_->links.back()).push_back(std::move(stage));
}

void Pipeline::add(std::unique_ptr<Service> service) {
  impl_->links.emplace_back(std::move(service));
}

LineCounts Pipeline::run(const PipelineOptions& options, const std::stop_token& stop) {
  core::require(impl_->read && impl_->write, ErrorCode::kInvalidArgument,
                "a pipeline needs a read stage and a write stage");
  if (impl_->links.empty()) impl_->links.emplace_back(Maps{});
  RecordReader reader(*impl_->read, stop);
  RecordWriter writer(*impl_->write);
  reader.skip(writer.lines_kept());
  ReaderSource source(reader);
  WriterSink sink(writer, options, reader);
  Chain chain;
  impl_->fill(chain, options.threads == 0 ? core::default_threads() : options.threads, stop);
  try {
    chain.run(source, sink, stop);
  } catch (...) {
    writer.flush();
    throw;
  }
  LineCounts counts = sink.counts();
  counts.with_invalid_utf8 = reader.lines_with_invalid_utf8();
  counts.replaced_bytes = reader.replaced_bytes();
  for (const auto& link : impl_->links)
    if (const auto* service = std::get_if<std::unique_ptr<Service>>(&link)) (*service)->add_counts(counts);
  if (stop.stop_requested()) {
    writer.flush();
    core::fail(ErrorCode::kInterrupted,
               "interrupted after {} lines, which are in {}; run again with --resume to continue",
               writer.lines_kept() + counts.lines, writer.partial_name());
  }
  writer.commit();
  return counts;
}

}  // namespace dragoman::pipeline
