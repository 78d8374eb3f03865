#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/collective/tree_sum.h>

// What every collective has to do, whatever transports its data: each is called by all ranks.
namespace dragoman::collective::testing {

inline void expect_texts(Collective& collective) {
  const int size = collective.size();
  const auto text_of = [](int rank) { return std::string(static_cast<std::size_t>(rank) * 70000, 'a' + rank); };
  const std::vector<std::string> texts = collective.gather_texts(text_of(collective.rank()));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) EXPECT_EQ(texts[static_cast<std::size_t>(r)], text_of(r));
  const int last = size - 1;
  EXPECT_EQ(collective.broadcast_text(collective.rank() == last ? "from the last" : "not looked at", last),
            "from the last");
  EXPECT_FALSE(collective.host_of(last).empty());
  for (int i = 0; i < 100; ++i) collective.barrier();
}

/// Blocks of another length for each pair, some of them empty.
inline void expect_blocks(Collective& collective) {
  const auto self = static_cast<std::size_t>(collective.rank()), size = static_cast<std::size_t>(collective.size());
  const auto block = [](std::size_t from, std::size_t to) {
    return std::vector<std::byte>(from * 50000 + to * 7, static_cast<std::byte>(16 * from + to));
  };
  std::vector<std::vector<std::byte>> sent, received;
  std::vector<Collective::Bytes> outgoing;
  std::vector<Collective::Room> incoming;
  for (std::size_t r = 0; r < size; ++r) {
    sent.push_back(block(self, r));
    received.emplace_back(block(r, self).size());
  }
  for (std::size_t r = 0; r < size; ++r) {
    outgoing.emplace_back(sent[r]);
    incoming.emplace_back(received[r]);
  }
  collective.exchange(outgoing, incoming);
  for (std::size_t r = 0; r < size; ++r) {
    if (r != self) {
      EXPECT_EQ(received[r], block(r, self));
    }
  }
}

/// Numbers of all sizes, so that every other order of additions has other bits.
template <class T>
std::vector<T> leaf(std::int64_t number, std::size_t length) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number) + 1);
  std::normal_distribution<double> normal;
  std::vector<T> values(length);
  for (T& value : values) value = static_cast<T>(normal(random) * std::exp2(static_cast<double>(random() % 24)));
  return values;
}

/// By the definition of the tree: halves at the largest power of two below.
template <class T>
std::vector<T> expected_sum(std::int64_t begin, std::int64_t end, std::size_t length) {
  if (end - begin == 1) return leaf<T>(begin, length);
  std::int64_t half = 1;
  while (half * 2 < end - begin) half *= 2;
  std::vector<T> left = expected_sum<T>(begin, begin + half, length);
  const std::vector<T> right = expected_sum<T>(begin + half, end, length);
  for (std::size_t i = 0; i < length; ++i) left[i] += right[i];
  return left;
}

/// The sum over all ranks has the bits of `expected`, which is expected_sum() of all leaves.
template <class T>
void expect_sum(Collective& collective, std::int64_t leaves, const std::vector<T>& expected) {
  const std::size_t length = expected.size();
  const auto add = [](std::vector<T> left, const std::vector<T>& right) {
    for (std::size_t i = 0; i < left.size(); ++i) left[i] += right[i];
    return left;
  };
  TreeSum sum(collective);
  for (int repetition = 0; repetition < 2; ++repetition) {
    TreeSummation<std::vector<T>> own;
    const LeafRange range = share_of(leaves, collective.rank(), collective.size());
    for (std::int64_t i = range.begin; i < range.end; ++i) own.push({0, i}, leaf<T>(i, length), add);
    std::vector<std::vector<T>> parts;
    for (const auto& [node, values] : own.waiting()) parts.push_back(values);
    std::vector<T> result(length);
    // As training has it: the last part takes the sum.
    std::vector<std::span<T>> spans(parts.begin(), parts.end());
    const std::span<T> to = spans.empty() ? std::span<T>(result) : spans.back();
    sum(leaves, std::span<const std::span<T>>(spans), to);
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(to), std::as_bytes(std::span<const T>(expected))))
        << leaves << " leaves, rank " << collective.rank() << " of " << collective.size();
  }
}

/// One rank sends 5 bytes and expects as many, the others 6.
inline void exchange_other_lengths(Collective& collective) {
  std::string text(collective.rank() == 0 ? 5 : 6, '.');
  const auto size = static_cast<std::size_t>(collective.size());
  const std::vector<Collective::Bytes> outgoing(size, bytes_of(std::span<const char>(text)));
  std::vector<std::string> came(size, text);
  std::vector<Collective::Room> incoming;
  for (std::string& room : came) incoming.push_back(room_of(std::span<char>(room)));
  collective.exchange(outgoing, incoming);
}

}  // namespace dragoman::collective::testing
