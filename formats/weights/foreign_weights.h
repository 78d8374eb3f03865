#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::imports {

/// The arrays of an open file of another toolkit, independent of their storage format.
class ForeignWeights {
 public:
  using Shape = std::vector<std::int64_t>;

  ForeignWeights() = default;
  ForeignWeights(ForeignWeights&&) = default;
  ForeignWeights(const ForeignWeights&) = delete;
  ForeignWeights& operator=(ForeignWeights&&) = default;
  ForeignWeights& operator=(const ForeignWeights&) = delete;
  virtual ~ForeignWeights();

  /// Returns the path, for messages.
  virtual const std::string& file() const = 0;
  /// Returns nullptr if there is no such array.
  virtual const Shape* shape_of(std::string_view name) const = 0;
  /// Reads all values in row order. Rounded values are read as the numbers that they represent. The size of `out` must
  /// match the shape.
  virtual void read(std::string_view name, std::span<float> out) const = 0;
  /// Returns the name under which the values of an array are stored if it is an alias, otherwise its own name.
  virtual std::string_view stored_name(std::string_view name) const { return name; }
  /// Returns whether read() transposes the values: the file stores the matrix as outputs x inputs, while the toolkit's
  /// own layout, and shape_of(), is inputs x outputs.
  virtual bool stored_turned(std::string_view) const { return false; }
  /// Returns the names of all arrays whose values must be used, in a fixed order.
  virtual std::vector<std::string> names() const = 0;
};

/// Returns the most bytes that `stored` bytes of weights may become where parts of a model share them.
std::uint64_t most_unfolded_bytes(std::uint64_t stored) noexcept;

/// Limits the work of every reader of weights. `stored` is the number of bytes of weights in the file, each counted
/// once. `unfolded` counts them once for every time they are read. Throws Error{kBadInput} if `unfolded` is out of
/// proportion.
void require_proportion(const std::string& file, std::uint64_t stored, std::uint64_t unfolded);

/// Returns the number of values of an array.
std::int64_t count_of(const ForeignWeights::Shape& shape);

}  // namespace dragoman::imports
