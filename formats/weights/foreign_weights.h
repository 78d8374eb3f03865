#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::imports {

/// The arrays of an opened file of another toolkit, whatever they are stored as.
class ForeignWeights {
 public:
  using Shape = std::vector<std::int64_t>;

  ForeignWeights() = default;
  ForeignWeights(ForeignWeights&&) = default;
  ForeignWeights(const ForeignWeights&) = delete;
  ForeignWeights& operator=(ForeignWeights&&) = default;
  ForeignWeights& operator=(const ForeignWeights&) = delete;
  virtual ~ForeignWeights();

  /// The path, for messages.
  virtual const std::string& file() const = 0;
  /// Null: there is no such array.
  virtual const Shape* shape_of(std::string_view name) const = 0;
  /// All values in row order, as numbers that were rounded are read. `out` has as many as the shape says.
  virtual void read(std::string_view name, std::span<float> out) const = 0;
  /// The name under which the values of an array stand, where it is an alias; else its own.
  virtual std::string_view stored_name(std::string_view name) const { return name; }
  /// Whether read() gives these values turned: the file has the matrix as outputs x inputs, though its toolkit's own
  /// form, and shape_of(), is inputs x outputs.
  virtual bool stored_turned(std::string_view) const { return false; }
  /// Of all arrays whose values somebody must take, in a fixed order.
  virtual std::vector<std::string> names() const = 0;
};

/// The budget of every reader of weights. `stored` is the number of the file's bytes that hold weights, each counted
/// once; `unfolded` counts them as often as they are read. Throws Error{kBadInput} if `unfolded` is out of proportion.
void require_proportion(const std::string& file, std::uint64_t stored, std::uint64_t unfolded);

/// Number of values of an array.
std::int64_t count_of(const ForeignWeights::Shape& shape);

}  // namespace dragoman::imports
