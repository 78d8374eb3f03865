#include <utility>

#include <fmt/format.h>

#include <dragoman/server/line_writer.h>

namespace dragoman::server {

LineWriter::LineWriter(std::function<void(std::string_view lines)> sink)
    : sink_(std::move(sink)), thread_([this] { run(); }) {}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void LineWriter::write(std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() >= kMaxBytes) {
      ++dropped_;
      return;
    }
    waiting_ += line;
    waiting_ += '\n';
  }
  changed_.notify_one();
}

void LineWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::string lines = std::exchange(waiting_, {});
    if (const std::uint64_t dropped = std::exchange(dropped_, 0); dropped != 0)
      lines += fmt::format("{{\"dropped_lines\":{}}}\n", dropped);
    lock.unlock();
    sink_(lines);
    lock.lock();
  }
}

}  // namespace dragoman::server
