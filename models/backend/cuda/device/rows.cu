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

/// A block for each token; that of the first token of an id adds up all of its rows, in their order, so that no two
/// blocks write to a row of the table.
struct EmbedBackward {
  EmbeddingBackward arguments;
  SIMT_DEVICE void operator()() const {
    const Ids& ids = arguments.ids;
    const std::int64_t t = simt::block_index();
    const std::int32_t id = ids.data[t];
    simt::SharedMemory memory;
    const auto cells = memory.take<int>(kWarps);
    int earlier = 0;
    for (std::int64_t i = simt::thread_index(); i < t; i += kThreads) earlier |= ids.data[i] == id ? 1 : 0;
    if (reduce_block(earlier, Maximum(), cells) != 0) return;
    for (std::int64_t j = simt::thread_index(); j < arguments.dy.cols; j += kThreads) {
      float sum = 0;
      for (std::int64_t i = t; i < ids.count; ++i)
        if (ids.data[i] == id)
          sum += at(arguments.dy, i, j) * dropout_factor(arguments.dropout, i * arguments.dy.cols + j);
      at(arguments.dtable.value, id + arguments.first, j) += arguments.scale * sum;
    }
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
  for_each_row(arguments.ids.count, kWarps * sizeof(std::int64_t), EmbedBackward{arguments});
}

}  // namespace dragoman::backend::cuda::device
