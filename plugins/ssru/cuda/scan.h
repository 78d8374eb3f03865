#pragma once

#include "launches.h"

/// ssru_scan.h as the host launches it: see launches.h of the CUDA backend.
namespace dragoman::ssru::device {

using backend::cuda::device::Ids;
using backend::cuda::device::Matrix;
using backend::cuda::device::Target;

struct Scan {
  Matrix candidates = {};
  Matrix forget = {};
  Matrix initial = {};
  Ids offsets = {};
  Matrix cells = {};
  Matrix latest = {};
};
void scan(const Scan& arguments);

struct ScanBackward {
  Matrix candidates = {};
  Matrix forget = {};
  Matrix cells = {};
  Ids offsets = {};
  Matrix dcells = {};
  Target dcandidates = {};
  Target dforget = {};
};
void scan_backward(const ScanBackward& arguments);

}  // namespace dragoman::ssru::device
