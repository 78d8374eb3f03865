#include "dragoman/pipeline/pipeline.h"

#include "channel.h"
#include "dragoman/pipeline/input_notes.h"
#include "input_trail.h"
#include "map_runner.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <variant>

#include <dragoman/core/error.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/run_stop.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;
using RecordChannel = Channel<Record>;
using Maps = std::vector<std::unique_ptr<const MapStage>>;

constexpr std::size_t kChannelBytes = std::size_t{4} << 20;

class ChannelSource final : public RecordSource {
 public:
  explicit ChannelSource(RecordChannel& channel) : channel_(&channel) {}
  std::optional<Record> next() override { return channel_->pop(); }
  std::optional<Record> next_ready() override { return channel_->try_pop(); }

 private:
  RecordChannel* channel_;
};

class ChannelSink final : public RecordSink {
 public:
  explicit ChannelSink(RecordChannel& channel) : channel_(&channel) {}
  bool put(Record record) override {
    const std::size_t weight = record.weight();
    return channel_->push(std::move(record), weight);
  }

 private:
  RecordChannel* channel_;
};

/// Passes the records of the input file to the first stage.
class ReaderSource final : public RecordSource {
 public:
  ReaderSource(RecordReader& reader, InputTrail& trail) : reader_(&reader), trail_(&trail) {}
  std::optional<Record> next() override {
    std::optional<Record> record = reader_->next();
    if (record)
      trail_->add({reader_->lines_read(), reader_->hash(), reader_->bytes_from_disk()});
    else if (reader_->at_end())
      trail_->end(reader_->lines_read());
    return record;
  }

  /// A file with a size on disk never keeps its reader waiting.
  std::optional<Record> next_ready() override { return reader_->size_on_disk() > 0 ? next() : std::nullopt; }

 private:
  RecordReader* reader_;
  InputTrail* trail_;
};

/// Writes the results of the last stage, and counts them.
class WriterSink final : public RecordSink {
 public:
  WriterSink(RecordWriter& writer, const PipelineOptions& options, const RecordReader& reader, InputTrail& trail)
      : writer_(&writer), options_(&options), reader_(&reader), trail_(&trail), lines_kept_(writer.lines_kept()) {}

  bool put(Record record) override {
    if (record.failed()) fail(record);
    writer_->write(record);
    // A reader that waits for the line gets it now. One call per line costs little compared with its translation.
    writer_->flush();
    ++counts_.lines;
    written_ = trail_->take();
    note_now_and_then();
    if (const std::uint64_t lines = total(); lines != lines_done()) report(lines, {});
    return true;
  }
  bool takes_beginnings() const override { return writer_->takes_beginnings(); }
  bool put_beginning(std::string_view more) override {
    writer_->write_beginning(more);
    writer_->flush();
    return true;
  }

  /// Keeps the written lines, with a note about their input.
  void keep() {
    writer_->flush();
    if (counts_.lines > 0) writer_->note(to_note(written_));
  }
  /// Makes the last report, in which all is done.
  void finish(std::vector<std::pair<std::string, double>> details) { report(lines_done(), std::move(details)); }
  std::uint64_t lines_done() const { return lines_kept_ + counts_.lines; }
  LineCounts& counts() { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;

  void fail(const Record& record) {
    core::require(!options_->fail_on_error, ErrorCode::kBadInput, "{}: {}", reader_->place_of(record.line),
                  record.message);
    constexpr std::uint64_t kShown = 20;
    ++counts_.failed;
    if (counts_.failed > kShown) return;
    core::log(options_->log, core::LogLevel::kWarning,
              fmt::format("{}: {}{}", reader_->place_of(record.line), record.message,
                          counts_.failed == kShown ? "; further failures are only counted" : ""));
  }

  void note_now_and_then() {
    constexpr std::chrono::milliseconds kInterval{100};
    const Clock::time_point now = Clock::now();
    if (counts_.lines > 1 && now - last_note_ < kInterval) return;
    last_note_ = now;
    writer_->note(to_note(written_));
  }

  /// Returns the number of lines of the whole input: exact after it has been read, before that estimated from the bytes
  /// that these lines took of the file. 0 if there is no basis for an estimate.
  std::uint64_t total() const {
    if (const auto lines = trail_->lines()) return *lines;
    const std::uint64_t size = reader_->size_on_disk();
    if (size == 0 || written_.bytes == 0) return 0;
    const double estimate =
        static_cast<double>(lines_done()) * static_cast<double>(size) / static_cast<double>(written_.bytes);
    return std::max(lines_done() + 1, static_cast<std::uint64_t>(estimate));
  }

  void report(std::uint64_t total, std::vector<std::pair<std::string, double>> details) {
    core::report(options_->progress, {.stage = options_->name,
                                      .done = lines_done(),
                                      .total = total,
                                      .unit = "lines",
                                      .figures = {},
                                      .details = std::move(details)});
  }

  RecordWriter* writer_;
  const PipelineOptions* options_;
  const RecordReader* reader_;
  InputTrail* trail_;
  std::uint64_t lines_kept_;
  LineCounts counts_;
  InputPoint written_;
  Clock::time_point last_note_{};
};

/// Runs the links of the chain concurrently, with channels between them. The first error of any link stops all.
class Chain {
 public:
  using Link = std::function<void(RecordSource&, RecordSink&, const std::stop_source&)>;

  void add_link(Link body) { links_.push_back(std::move(body)); }

  /// Requests `stop` if a link fails.
  void run(RecordSource& source, RecordSink& sink, const std::stop_source& stop) {
    std::vector<std::unique_ptr<RecordChannel>> channels;
    for (std::size_t i = 1; i < links_.size(); ++i) channels.push_back(std::make_unique<RecordChannel>(kChannelBytes));
    const std::stop_callback on_stop(stop.get_token(), [&] {
      for (const auto& channel : channels) channel->abort();
    });
    const auto guarded = [&](const auto& body) {
      try {
        body();
      } catch (...) {
        keep(std::current_exception());
        stop.request_stop();
      }
    };
    {
      std::vector<std::jthread> threads;
      guarded([&] {
        threads.reserve(links_.size());
        for (std::size_t i = 0; i + 1 < links_.size(); ++i)
          threads.push_back(core::start_thread(
              "runs a stage", [&, i] { guarded([&] { run_link(i, channels, source, sink, stop); }); }));
        run_link(links_.size() - 1, channels, source, sink, stop);
      });
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void run_link(std::size_t i, const std::vector<std::unique_ptr<RecordChannel>>& channels, RecordSource& source,
                RecordSink& sink, const std::stop_source& stop) {
    std::optional<ChannelSource> from;
    std::optional<ChannelSink> to;
    if (i > 0) from.emplace(*channels[i - 1]);
    if (i + 1 < links_.size()) to.emplace(*channels[i]);
    links_[i](from ? static_cast<RecordSource&>(*from) : source, to ? static_cast<RecordSink&>(*to) : sink, stop);
    if (from) channels[i - 1]->abort();  // a link that ends early accepts no more
    if (to) channels[i]->close();
  }
  void keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

  std::vector<Link> links_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

/// If line after line fails, the input is not what the stages expect. For JSON lines, each line contains its error.
void require_some_success(const LineCounts& counts, const WriteOptions& write, const std::string& input) {
  constexpr std::uint64_t kSuspicious = 10;
  core::require(counts.lines < kSuspicious || counts.failed < counts.lines || write.format == RecordFormat::kJsonl,
                ErrorCode::kBadInput,
                "{}: each of its {} lines failed; is it of the format that the first stage reads?", input,
                counts.lines);
}

/// Keeps the written lines before the error that ended the run is rethrown.
void keep_quietly(WriterSink& sink) {
  try {
    sink.keep();
  } catch (const core::Error&) {
    // The disk may be the cause of the error.
  }
}

}  // namespace

struct Pipeline::Impl {
  std::optional<ReadOptions> read;
  std::optional<WriteOptions> write;
  std::vector<std::filesystem::path> inputs;
  std::vector<std::string> notes;
  std::vector<std::function<void()>> checks;
  /// Adjacent map stages form one link.
  std::vector<std::variant<Maps, std::unique_ptr<Service>>> links;

  std::vector<std::pair<std::string, double>> figures() const {
    std::vector<std::pair<std::string, double>> all;
    for (const auto& link : links)
      if (const auto* service = std::get_if<std::unique_ptr<Service>>(&link)) (*service)->add_figures(all);
    return all;
  }

  void fill(Chain& chain, int threads) {
    for (auto& link : links) {
      if (auto* service = std::get_if<std::unique_ptr<Service>>(&link))
        chain.add_link([service](RecordSource& source, RecordSink& sink, const std::stop_source& stop) {
          (*service)->run(source, sink, stop);
        });
      else
        chain.add_link([&maps = std::get<Maps>(link), threads](RecordSource& source, RecordSink& sink,
                                                               const std::stop_source& stop) {
          run_maps(maps, threads, source, sink, stop);
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

void Pipeline::set_partial(core::PartialPolicy policy) {
  core::require(impl_->write.has_value(), ErrorCode::kInvalidArgument, "a pipeline needs a write stage");
  core::require(policy == core::PartialPolicy::kRefuse || impl_->write->path != "-", ErrorCode::kInvalidArgument,
                "the output is standard output, of which nothing is left to be resumed or overwritten");
  impl_->write->partial = policy;
}

void Pipeline::add_input(std::filesystem::path path) {
  impl_->inputs.push_back(std::move(path));
}

void Pipeline::add_check(std::function<void()> check) {
  impl_->checks.push_back(std::move(check));
}

void Pipeline::add_note(std::string note) {
  impl_->notes.push_back(std::move(note));
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
  if (impl_->write->partial == core::PartialPolicy::kRefuse)
    for (const auto& check : impl_->checks) check();
  for (const std::string& note : impl_->notes) core::log(options.log, core::LogLevel::kInfo, note);
  impl_->inputs.push_back(impl_->read->path);
  for (const auto& path : impl_->read->further_paths) impl_->inputs.push_back(path);
  core::require_not_an_input(impl_->write->path, impl_->inputs);
  const core::RunStop run_stop(stop);
  impl_->write->vouched = vouched_lines;
  RecordWriter writer(*impl_->write, run_stop.token());
  RecordReader reader(*impl_->read, run_stop.token());
  skip_lines_kept(reader, writer);
  InputTrail trail;
  if (const auto lines = reader.lines()) trail.end(*lines);
  ReaderSource source(reader, trail);
  WriterSink sink(writer, options, reader, trail);
  Chain chain;
  impl_->fill(chain, core::thread_count(options.threads));
  try {
    chain.run(source, sink, run_stop.source());
  } catch (...) {
    keep_quietly(sink);
    throw;
  }
  if (stop.stop_requested()) {
    sink.keep();
    core::require(writer.can_resume(), ErrorCode::kInterrupted, "interrupted after {} lines", sink.lines_done());
    core::require(sink.lines_done() > 0, ErrorCode::kInterrupted,
                  "interrupted before the first line was done; nothing was written");
    core::fail_option("resume", ErrorCode::kInterrupted,
                      "interrupted after {} lines, which are in {}; run again with `resume` to continue",
                      sink.lines_done(), writer.partial_name());
  }
  require_some_success(sink.counts(), *impl_->write, reader.name());
  writer.commit();
  sink.finish(impl_->figures());
  LineCounts counts = sink.counts();
  counts.with_invalid_utf8 = reader.lines_with_invalid_utf8();
  counts.replaced_bytes = reader.replaced_bytes();
  counts.byte_order_marks = reader.byte_order_marks();
  for (const auto& link : impl_->links)
    if (const auto* service = std::get_if<std::unique_ptr<Service>>(&link)) (*service)->add_counts(counts);
  return counts;
}

}  // namespace dragoman::pipeline
