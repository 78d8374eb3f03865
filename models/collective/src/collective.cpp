#include "dragoman/collective/collective.h"

#include <array>
#include <cstring>

namespace dragoman::collective {
namespace {

/// The encoded length of a text.
using Length = std::array<std::byte, sizeof(std::uint64_t)>;

Length encode(std::uint64_t length) {
  Length bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(length >> (8 * i));
  return bytes;
}

std::size_t decode(const Length& bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  // Dragoman checks the length before sending, so a larger one comes from another program.
  core::require(length <= Collective::kLongestText, core::ErrorCode::kIo,
                "another process sends a text of {} bytes, more than any has", length);
  return static_cast<std::size_t>(length);
}

void check_length(std::string_view text) {
  core::require(text.size() <= Collective::kLongestText, core::ErrorCode::kInvalidArgument,
                "a text for other processes has {} bytes; {} is the most", text.size(), Collective::kLongestText);
}

}  // namespace

Collective::~Collective() = default;

std::string Collective::name_of(int rank) const {
  return fmt::format("rank {} ({})", rank, host_of(rank));
}

int Collective::local_rank() const {
  int below = 0;
  for (int other = 0; other < rank(); ++other)
    if (host_of(other) == host_of(rank())) ++below;
  return below;
}

void Collective::close() {
  barrier();
  finish();
}

void Collective::barrier() {
  std::byte mark{};
  std::vector<std::byte> marks(static_cast<std::size_t>(size()));
  const std::vector<Bytes> outgoing(marks.size(), Bytes(&mark, 1));
  std::vector<Room> incoming;
  for (std::byte& other : marks) incoming.emplace_back(&other, 1);
  exchange(outgoing, incoming);
}

void Collective::broadcast(Room bytes, int root) {
  std::vector<Bytes> outgoing(static_cast<std::size_t>(size()));
  std::vector<Room> incoming(outgoing.size());
  if (rank() == root)
    outgoing.assign(outgoing.size(), bytes);
  else
    incoming[static_cast<std::size_t>(root)] = bytes;
  exchange(outgoing, incoming);
}

std::vector<std::string> Collective::gather_texts(std::string_view mine) {
  check_length(mine);
  const auto own = static_cast<std::size_t>(rank()), count = static_cast<std::size_t>(size());
  Length length = encode(mine.size());
  std::vector<Length> lengths(count);
  lengths[own] = length;
  std::vector<Bytes> outgoing(count, Bytes(length));
  std::vector<Room> incoming(lengths.begin(), lengths.end());
  exchange(outgoing, incoming);
  std::vector<std::string> texts(count);
  texts[own] = mine;
  for (std::size_t r = 0; r < count; ++r) {
    if (r != own) texts[r].resize(decode(lengths[r]));
    incoming[r] = r == own ? Room{} : room_of(std::span(texts[r]));
  }
  outgoing.assign(count, bytes_of(std::span(mine)));
  exchange(outgoing, incoming);
  return texts;
}

std::string Collective::broadcast_text(std::string_view mine, int root) {
  const bool sends = rank() == root;
  if (sends) check_length(mine);
  Length length = encode(sends ? mine.size() : 0);
  broadcast(length, root);
  std::string text(sends ? std::string(mine) : std::string(decode(length), '\0'));
  broadcast(room_of(std::span(text)), root);
  return text;
}

}  // namespace dragoman::collective
