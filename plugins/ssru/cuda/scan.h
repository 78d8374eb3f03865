#pragma once

#include <cstdint>

/// The launch functions of ssru_scan.h. They take plain values and device addresses, because nvcc includes none of the
/// library's headers. Each function returns the error text of the launch, or nullptr after success.
namespace dragoman::ssru::device {

/// A row-major matrix whose rows are `stride` elements apart. data == nullptr: no matrix.
struct Matrix {
  float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;
};
/// A gradient that is added to or overwritten. Without data it is not computed.
struct Target {
  Matrix value = {};
  bool accumulate = false;
};
struct Offsets {
  const std::int32_t* data = nullptr;
  std::int64_t count = 0;
};

struct Scan {
  Matrix candidates = {};
  Matrix forget = {};
  Matrix initial = {};
  Offsets offsets = {};
  Matrix cells = {};
  Matrix latest = {};
};
const char* scan(const Scan& arguments, void* stream);

struct ScanBackward {
  Matrix candidates = {};
  Matrix forget = {};
  Matrix cells = {};
  Offsets offsets = {};
  Matrix dcells = {};
  Target dcandidates = {};
  Target dforget = {};
};
const char* scan_backward(const ScanBackward& arguments, void* stream);

}  // namespace dragoman::ssru::device
