#include "random.h"

namespace dragoman::backend::cuda::device {
namespace {

template <class T>
View<T> of_type(const View<unsigned char>& bytes) {
  return {reinterpret_cast<T*>(bytes.data), bytes.rows, bytes.cols, bytes.stride};
}

template <class T>
struct Gather {
  View<T> x;
  Ids rows;
  View<T> y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    const std::int32_t row = rows.data[i];
    at(y, i, j) = row < 0 ? T{} : at(x, row, j);
  }
};
template <class T>
struct Scatter {
  View<T> x;
  Ids rows;
  View<T> y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const { at(y, rows.data[i], j) = at(x, i, j); }
};
template <class Words>
struct ScatterAs {
  Matrix x;
  Ids rows;
  HalfMatrix y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    at(y, rows.data[i], j) = narrow(Words(), at(x, i, j));
  }
};

template <template <class> class Function>
void for_each_of_type(const View<unsigned char>& x, int element_bytes, Ids rows, const View<unsigned char>& y) {
  switch (element_bytes) {
    case 1:
      return for_each_element(rows.count, y.cols, Function<unsigned char>{x, rows, y});
    case 2:
      return for_each_element(rows.count, y.cols,
                              Function<std::uint16_t>{of_type<std::uint16_t>(x), rows, of_type<std::uint16_t>(y)});
    case 4:
      return for_each_element(rows.count, y.cols,
                              Function<std::uint32_t>{of_type<std::uint32_t>(x), rows, of_type<std::uint32_t>(y)});
    default:
      return for_each_element(rows.count, y.cols,
                              Function<std::uint64_t>{of_type<std::uint64_t>(x), rows, of_type<std::uint64_t>(y)});
  }
}

struct Embed {
  Embedding arguments;
  SIMT_DEVICE void operator()(std::int64_t t, std::int64_t j) const {
    float value = arguments.scale * at(arguments.table, arguments.ids.data[t], j);
    if (arguments.position_table.data != nullptr)
      value += at(arguments.position_table, arguments.positions.data[t] + arguments.first_position, j);
    at(arguments.y, t, j) = value * dropout_factor(arguments.dropout, t * arguments.y.cols + j);
  }
};

struct Clear {
  Matrix y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const { at(y, i, j) = 0; }
};

SIMT_DEVICE int bits_of(std::uint32_t mask) {
  int count = 0;
  for (; mask != 0; mask &= mask - 1) ++count;
  return count;
}

/// A block for each token; that of the first token of an id adds up all of its rows, in their order, so that no two
/// blocks write to a row of the table.
struct EmbedBackward {
  EmbeddingBackward arguments;
  static constexpr int kAtOnce = 8;  ///< rows whose elements are on their way together

  SIMT_DEVICE void operator()() const {
    const Ids& ids = arguments.ids;
    const std::int64_t t = simt::block_index();
    const std::int32_t id = ids.data[t];
    simt::SharedMemory memory;
    const auto cells = memory.take<int>(kWarps);
    const auto masks = memory.take<std::uint32_t>(kWarps);
    const auto tokens = memory.take<std::int32_t>(kThreads);
    int earlier = 0;
    for (std::int64_t i = simt::thread_index(); i < t; i += kThreads) earlier |= ids.data[i] == id ? 1 : 0;
    if (reduce_block(earlier, Maximum(), cells) != 0) return;
    const std::int64_t cols = arguments.dy.cols;
    for (std::int64_t first = 0; first < cols; first += kThreads) {
      const std::int64_t j = first + simt::thread_index();
      float sum = 0;
      for (std::int64_t begin = t; begin < ids.count; begin += kThreads) {
        const int count = list_tokens(begin, id, masks, tokens);
        for (int n = 0; n < count && j < cols; n += kAtOnce) {
          float values[kAtOnce];
          SIMT_UNROLL
          for (int i = 0; i < kAtOnce; ++i) values[i] = n + i < count ? value(tokens[n + i], j) : 0;
          SIMT_UNROLL
          for (int i = 0; i < kAtOnce; ++i) sum += values[i];
        }
        simt::barrier();  // before the list is written again
      }
      if (j < cols) at(arguments.dtable.value, id + arguments.first, j) += arguments.scale * sum;
    }
  }

 private:
  SIMT_DEVICE float value(std::int64_t token, std::int64_t j) const {
    return at(arguments.dy, token, j) * dropout_factor(arguments.dropout, token * arguments.dy.cols + j);
  }
  /// Those of the id among kThreads tokens, in their order; how many there are.
  SIMT_DEVICE int list_tokens(std::int64_t begin, std::int32_t id, const Shared<std::uint32_t>& masks,
                              const Shared<std::int32_t>& tokens) const {
    const std::int64_t token = begin + simt::thread_index();
    const bool found = token < arguments.ids.count && arguments.ids.data[token] == id;
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const std::uint32_t mask = reduce_warp(found ? std::uint32_t{1} << lane : std::uint32_t{0}, Sum());
    if (lane == 0) masks[warp] = mask;
    simt::barrier();
    int before = bits_of(mask & ((std::uint32_t{1} << lane) - 1));
    int count = 0;
    for (int w = 0; w < kWarps; ++w) {
      const int of_warp = bits_of(masks[w]);
      if (w < warp) before += of_warp;
      count += of_warp;
    }
    if (found) tokens[before] = static_cast<std::int32_t>(token);
    simt::barrier();
    return count;
  }
};

}  // namespace

void gather_rows(const View<unsigned char>& x, int element_bytes, Ids rows, const View<unsigned char>& y) {
  for_each_of_type<Gather>(x, element_bytes, rows, y);
}
void scatter_rows(const View<unsigned char>& x, int element_bytes, Ids rows, const View<unsigned char>& y) {
  for_each_of_type<Scatter>(x, element_bytes, rows, y);
}
void scatter_rows_as(Half type, const Matrix& x, Ids rows, const HalfMatrix& y) {
  with_words(type, [&]<class Words>(Words) { for_each_element(rows.count, x.cols, ScatterAs<Words>{x, rows, y}); });
}

void embedding(const Embedding& arguments) {
  for_each_element(arguments.ids.count, arguments.y.cols, Embed{arguments});
}

void embedding_backward(const EmbeddingBackward& arguments) {
  const Matrix& table = arguments.dtable.value;
  if (!arguments.dtable.accumulate) for_each_element(table.rows, table.cols, Clear{table});
  for_each_row(arguments.ids.count, kThreads * sizeof(std::int32_t) + 2 * kWarps * sizeof(std::int64_t),
               EmbedBackward{arguments});
}

}  // namespace dragoman::backend::cuda::device
