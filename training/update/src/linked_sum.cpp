#include "update/linked_sum.h"

#include <vector>

#include <dragoman/ops/elementwise.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::training {

using tensor::Tensor;

void LinkedSum::operator()(std::int64_t leaves, std::span<const Tensor> parts, const Tensor& result) {
  like_ = result;
  const std::size_t number = tensor::size_of(result.dtype);
  const auto room_of = [&](const Tensor& row) {
    return Room(static_cast<std::byte*>(row.data), static_cast<std::size_t>(row.cols) * number);
  };
  std::vector<Room> rooms;
  for (const Tensor& part : parts) rooms.push_back(room_of(part));
  collective::PlacedTreeSum(ranks_->rank(), ranks_->size(), *this, number)(leaves, rooms, room_of(result));
}

void LinkedSum::exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) {
  links_->exchange(outgoing, incoming);
}

std::byte* LinkedSum::scratch(std::size_t bytes) {
  if (bytes > scratch_.size()) {
    // A sum in progress may still use the old buffer.
    links_->wait();
    scratch_ = {};
    scratch_ = tensor::Buffer(context_->memory(), bytes);
  }
  return static_cast<std::byte*>(scratch_.data());
}

void LinkedSum::combine(Room to, Bytes from, bool accumulate) {
  const auto row_of = [&](const std::byte* data) {
    Tensor row = like_;
    row.data = const_cast<std::byte*>(data);
    row.cols = row.stride = static_cast<std::int64_t>(to.size() / tensor::size_of(like_.dtype));
    return row;
  };
  context_->kernels().get(ops::kScale)(*context_, {row_of(from.data()), 1, row_of(to.data()), accumulate});
}

}  // namespace dragoman::training
