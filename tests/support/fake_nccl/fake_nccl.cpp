#include "fake_nccl.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <unistd.h>

// The part of NCCL that Dragoman uses, as its manual describes it, between processes (or threads) of one machine, over
// sockets. It is stricter than NCCL: a call that would hang or is undefined fails here with the reason. Communicators
// must be non-blocking. Calls remain in progress until they have been polled a few times. Data is read and written when
// the stream reaches the operation, not before.

namespace {

enum Result {
  kSuccess = 0,
  kSystemError = 2,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7
};

constexpr int kAsksUntilDone = 3;

struct Failure : std::runtime_error {
  Failure(Result result_in, const std::string& why) : std::runtime_error(why), result(result_in) {}
  Result result;
};

int version() {
  const char* const text = std::getenv("FAKE_NCCL_VERSION");
  return text == nullptr ? 22304 : std::atoi(text);
}
bool silent() {
  return std::getenv("FAKE_NCCL_SILENT") != nullptr;
}

class Stream {
 public:
  Stream(int device, void (*opens)(void*), void (*closes)(void*), void* argument)
      : device_(device), open_(opens), close_(closes), argument_(argument), thread_([this] { work(); }) {}
  ~Stream() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  int device() const { return device_; }
  void put(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }
  bool idle() {
    const std::lock_guard lock(mutex_);
    return tasks_.empty();
  }
  void open() { open_(argument_); }
  void close() { close_(argument_); }

  using OnBytes = void (*)(void*, const void*, unsigned long);
  void watch(OnBytes on_read, OnBytes on_written) {
    reads_ = on_read;
    wrote_ = on_written;
  }
  void reads(const void* data, std::size_t bytes) const {
    if (reads_ != nullptr) reads_(argument_, data, bytes);
  }
  void wrote(const void* data, std::size_t bytes) const {
    if (wrote_ != nullptr) wrote_(argument_, data, bytes);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = tasks_.front();
      lock.unlock();
      task();
      lock.lock();
      tasks_.pop_front();
    }
  }

  int device_;
  void (*open_)(void*);
  void (*close_)(void*);
  void* argument_;
  OnBytes reads_ = nullptr;
  OnBytes wrote_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ends_ = false;
  std::thread thread_;
};

thread_local int used_device = -1;

/// The messages of processes when they connect (Hello), and before each block of data (Header).
struct Hello {
  int rank = 0;
  int size = 0;
  int version = 0;
  int device = 0;
};
struct Header {
  std::uint64_t bytes = 0;
};

sockaddr_un address_of(const std::string& id, int rank, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Not in the file system: it vanishes with the process.
  const std::string name = id + "/" + std::to_string(rank);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

/// Bytes that are being sent to a peer or received from it.
struct Moving {
  int socket = -1;
  bool sends = false;
  std::vector<char> bytes;  ///< including the header
  std::size_t moved = 0;
};

struct Operation {
  bool sends;
  void* data;
  std::size_t bytes;
  int peer;
  Stream* stream;
};

}  // namespace

struct ncclComm {
  std::string id;
  int rank = 0;
  int size = 1;
  int device = -1;
  std::thread::id owner = std::this_thread::get_id();
  std::vector<int> sockets;
  Stream* stream = nullptr;
  std::thread meeting;
  std::vector<Operation> waiting;  ///< a group that has ended and is not in the stream yet
  int asks = 0;
  std::atomic<bool> aborted{false};
  std::atomic<int> tasks{0};
  std::atomic<bool> met{false};
  std::mutex mutex;
  int error = kSuccess;
  std::string why;

  void note(int result, const std::string& reason) {
    const std::lock_guard lock(mutex);
    if (error != kSuccess) return;
    error = result;
    why = reason;
  }
};

namespace {

/// Transfers everything, in any order that the sockets allow. Gives up if the communicator is aborted.
void move_all(ncclComm& comm, std::vector<Moving>& all) {
  while (!comm.aborted) {
    std::vector<pollfd> entries;
    for (const Moving& moving : all)
      if (moving.moved < moving.bytes.size())
        entries.push_back({moving.socket, static_cast<short>(moving.sends ? POLLOUT : POLLIN), 0});
    if (entries.empty()) return;
    ::poll(entries.data(), entries.size(), 20);
    for (Moving& moving : all) {
      if (moving.moved == moving.bytes.size()) continue;
      char* const data = moving.bytes.data() + moving.moved;
      const std::size_t left = moving.bytes.size() - moving.moved;
      const ssize_t moved = moving.sends ? ::send(moving.socket, data, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                         : ::recv(moving.socket, data, left, MSG_DONTWAIT);
      if (moved > 0) {
        moving.moved += static_cast<std::size_t>(moved);
      } else if (moved == 0 || (errno != EAGAIN && errno != EINTR)) {
        if (!silent()) throw Failure(kRemoteError, "a peer has closed the connection");
        while (!comm.aborted) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
  }
}

void move(ncclComm& comm, int socket, bool sends, void* data, std::size_t bytes) {
  std::vector<Moving> all(1);
  all[0].socket = socket;
  all[0].sends = sends;
  all[0].bytes.assign(static_cast<char*>(data), static_cast<char*>(data) + bytes);
  move_all(comm, all);
  std::memcpy(data, all[0].bytes.data(), bytes);
}

int connect_to(ncclComm& comm, int rank) {
  while (!comm.aborted) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = 0;
    const sockaddr_un address = address_of(comm.id, rank, length);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0) return socket;
    ::close(socket);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw Failure(kSystemError, "aborted");
}

int accept_at(ncclComm& comm, int listener) {
  pollfd entry{listener, POLLIN, 0};
  while (!comm.aborted)
    if (::poll(&entry, 1, 20) > 0) return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  throw Failure(kSystemError, "aborted");
}

void greet(ncclComm& comm, int socket) {
  Hello own{comm.rank, comm.size, version(), comm.device};
  Hello other = own;
  move(comm, socket, true, &own, sizeof own);
  move(comm, socket, false, &other, sizeof other);
  if (comm.aborted) return;
  comm.sockets[static_cast<std::size_t>(other.rank)] = socket;
  if (other.version != own.version) throw Failure(kInvalidUsage, "another version of the library");
  if (other.size != own.size) throw Failure(kInvalidArgument, "another number of ranks");
  if (other.device == own.device)
    throw Failure(kInvalidUsage,
                  "Duplicate GPU detected: ranks " + std::to_string(own.rank) + " and " + std::to_string(other.rank));
}

void meet(ncclComm& comm) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  try {
    socklen_t length = 0;
    const sockaddr_un address = address_of(comm.id, comm.rank, length);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), length) != 0 || ::listen(listener, 64) != 0)
      throw Failure(kInvalidArgument, "two have the same rank");
    for (int r = 0; r < comm.rank; ++r) greet(comm, connect_to(comm, r));
    for (int r = comm.rank + 1; r < comm.size; ++r) greet(comm, accept_at(comm, listener));
  } catch (const Failure& failure) {
    comm.note(failure.result, failure.what());
  }
  ::close(listener);
  comm.met = true;
}

/// Runs a group when the stream reaches it.
void run_group(ncclComm& comm, const std::vector<Operation>& operations) {
  std::vector<Moving> all;
  Stream& stream = *operations.front().stream;
  stream.open();
  for (const Operation& operation : operations) {
    Moving moving;
    moving.socket = comm.sockets.at(static_cast<std::size_t>(operation.peer));
    moving.sends = operation.sends;
    moving.bytes.resize(sizeof(Header) + operation.bytes);
    if (operation.sends) {
      stream.reads(operation.data, operation.bytes);
      const Header header{operation.bytes};
      std::memcpy(moving.bytes.data(), &header, sizeof header);
      std::memcpy(moving.bytes.data() + sizeof header, operation.data, operation.bytes);
    }
    all.push_back(std::move(moving));
  }
  stream.close();
  try {
    // The header of each block is transferred first: a block with another length must not be received.
    std::vector<Moving> first = all;
    for (std::size_t i = 0; i < all.size(); ++i) first[i].bytes.resize(sizeof(Header));
    move_all(comm, first);
    for (std::size_t i = 0; i < all.size() && !comm.aborted; ++i) {
      all[i].moved = sizeof(Header);
      if (all[i].sends) continue;
      Header header;
      std::memcpy(&header, first[i].bytes.data(), sizeof header);
      if (header.bytes != operations[i].bytes)
        throw Failure(kInvalidArgument, "rank " + std::to_string(operations[i].peer) + " sends " +
                                            std::to_string(header.bytes) + " bytes, and " +
                                            std::to_string(operations[i].bytes) + " are expected");
    }
    move_all(comm, all);
  } catch (const Failure& failure) {
    comm.note(failure.result, failure.what());
    return;
  }
  if (comm.aborted) return;
  stream.open();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].sends) continue;
    std::memcpy(operations[i].data, all[i].bytes.data() + sizeof(Header), operations[i].bytes);
    stream.wrote(operations[i].data, operations[i].bytes);
  }
  stream.close();
}

struct Group {
  int depth = 0;
  std::map<ncclComm*, std::vector<Operation>> operations;
};
thread_local Group group_of_thread;

int refuse(ncclComm* comm, Result result, const std::string& why) {
  std::fprintf(stderr, "fake NCCL: %s\n", why.c_str());
  if (comm != nullptr) comm->note(result, why);
  return result;
}

int add_operation(bool sends, void* data, std::size_t count, int type, int peer, ncclComm* comm, void* stream) {
  if (comm == nullptr || stream == nullptr || data == nullptr)
    return refuse(comm, kInvalidArgument, "a send or receive of nothing");
  if (group_of_thread.depth == 0) return refuse(comm, kInvalidUsage, "a send or receive outside of a group");
  if (comm->owner != std::this_thread::get_id())
    return refuse(comm, kInvalidUsage, "a communicator is used by another thread than made it");
  if (!comm->met || !comm->waiting.empty()) return refuse(comm, kInvalidUsage, "used while a call is under way");
  if (peer < 0 || peer >= comm->size || peer == comm->rank) return refuse(comm, kInvalidArgument, "no such peer");
  if (type != 1) return refuse(comm, kInvalidArgument, "bytes are all that can be sent here");
  auto* const queue = static_cast<Stream*>(stream);
  if (queue->device() != comm->device) return refuse(comm, kInvalidUsage, "a stream of another device");
  if (comm->stream != nullptr && comm->stream != queue)
    return refuse(comm, kInvalidUsage, "groups of a communicator in several streams have no order");
  comm->stream = queue;
  auto& operations = group_of_thread.operations[comm];
  for (const Operation& other : operations)
    if (other.peer == peer && other.sends == sends)
      return refuse(comm, kInvalidUsage, "two of the same kind with one peer in a group");
  operations.push_back({sends, data, count, peer, queue});
  return kSuccess;
}

}  // namespace

extern "C" {

struct ncclUniqueId {
  char internal[128];
};
struct ncclConfig {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

int ncclGetVersion(int* code) {
  *code = version();
  return kSuccess;
}

int ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  std::memset(id->internal, 0, sizeof id->internal);
  std::snprintf(id->internal, sizeof id->internal, "fake-nccl-%d-%08x%08x", ::getpid(), random(), random());
  return kSuccess;
}

int ncclCommInitRankConfig(ncclComm** made, int size, ncclUniqueId id, int rank, ncclConfig* config) {
  *made = nullptr;
  if (config == nullptr || config->magic != 0xcafebeef || config->size < sizeof(ncclConfig))
    return refuse(nullptr, kInvalidArgument, "no configuration");
  if (config->blocking != 0) return refuse(nullptr, kInvalidUsage, "a communicator that blocks");
  if (rank < 0 || rank >= size) return refuse(nullptr, kInvalidArgument, "no such rank");
  if (used_device < 0) return refuse(nullptr, kInvalidUsage, "no device was chosen");
  auto comm = std::make_unique<ncclComm>();
  comm->id = id.internal;
  comm->rank = rank;
  comm->size = size;
  comm->device = used_device;
  comm->sockets.assign(static_cast<std::size_t>(size), -1);
  comm->meeting = std::thread([raw = comm.get()] { meet(*raw); });
  *made = comm.release();
  return kInProgress;
}

int ncclCommGetAsyncError(ncclComm* comm, int* result) {
  {
    const std::lock_guard lock(comm->mutex);
    if (comm->error != kSuccess) {
      *result = comm->error;
      return kSuccess;
    }
  }
  *result = kInProgress;
  if (!comm->met) return kSuccess;
  if (!comm->waiting.empty()) {
    if (++comm->asks < kAsksUntilDone) return kSuccess;
    comm->asks = 0;
    ++comm->tasks;
    comm->stream->put([comm, operations = std::exchange(comm->waiting, {})] {
      run_group(*comm, operations);
      --comm->tasks;
    });
  }
  *result = kSuccess;
  return kSuccess;
}

int ncclCommAbort(ncclComm* comm) {
  comm->aborted = true;
  comm->meeting.join();
  while (comm->tasks > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (const int socket : comm->sockets)
    if (socket >= 0) ::close(socket);
  delete comm;
  return kSuccess;
}

int ncclGroupStart() {
  ++group_of_thread.depth;
  return kSuccess;
}

int ncclGroupEnd() {
  if (group_of_thread.depth == 0) return refuse(nullptr, kInvalidUsage, "the end of a group that has not begun");
  if (--group_of_thread.depth > 0) return kSuccess;
  const auto groups = std::exchange(group_of_thread.operations, {});
  for (const auto& [comm, operations] : groups) comm->waiting = operations;
  return groups.empty() ? kSuccess : kInProgress;
}

int ncclSend(const void* data, std::size_t count, int type, int peer, ncclComm* comm, void* stream) {
  return add_operation(true, const_cast<void*>(data), count, type, peer, comm, stream);
}
int ncclRecv(void* data, std::size_t count, int type, int peer, ncclComm* comm, void* stream) {
  return add_operation(false, data, count, type, peer, comm, stream);
}

const char* ncclGetErrorString(int result) {
  switch (result) {
    case kSystemError:
      return "unhandled system error";
    case kInvalidArgument:
      return "invalid argument";
    case kInvalidUsage:
      return "invalid usage";
    case kRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "another error";
  }
}
const char* ncclGetLastError(ncclComm* comm) {
  return comm == nullptr ? "" : comm->why.c_str();
}

void fakeNcclUseDevice(int device) {
  used_device = device;
}
void* fakeNcclStreamCreate(int device, void (*open)(void*), void (*close)(void*), void* argument) {
  return new Stream(device, open, close, argument);
}
void fakeNcclStreamWatch(void* stream, void (*reads)(void*, const void*, unsigned long),
                         void (*wrote)(void*, const void*, unsigned long)) {
  static_cast<Stream*>(stream)->watch(reads, wrote);
}
void fakeNcclStreamDestroy(void* stream) {
  delete static_cast<Stream*>(stream);
}
int fakeNcclStreamIdle(void* stream) {
  return static_cast<Stream*>(stream)->idle() ? 1 : 0;
}
}
