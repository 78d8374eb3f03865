#include "cuda_kernels.h"

#include "scan.h"
#include "ssru_scan.h"
#include "use_device.h"
#include "views.h"

namespace dragoman::ssru {
namespace {

using backend::cuda::ids;
using backend::cuda::matrix;
using backend::cuda::target;

void cuda_scan(Context& context, const ScanArguments& arguments) {
  constexpr std::string_view kOp = "ssru.scan";
  backend::cuda::device::use(context.device().number());
  device::scan({.candidates = matrix(arguments.candidates, kOp),
                .forget = matrix(arguments.forget, kOp),
                .initial = matrix(arguments.initial, kOp),
                .offsets = ids(arguments.offsets),
                .cells = matrix(arguments.cells, kOp),
                .latest = matrix(arguments.latest, kOp)});
}

void cuda_scan_backward(Context& context, const ScanBackwardArguments& arguments) {
  constexpr std::string_view kOp = "ssru.scan_backward";
  backend::cuda::device::use(context.device().number());
  device::scan_backward({.candidates = matrix(arguments.candidates, kOp),
                         .forget = matrix(arguments.forget, kOp),
                         .cells = matrix(arguments.cells, kOp),
                         .offsets = ids(arguments.offsets),
                         .dcells = matrix(arguments.dcells, kOp),
                         .dcandidates = target(arguments.dcandidates, kOp),
                         .dforget = target(arguments.dforget, kOp)});
}

}  // namespace

void install_cuda_kernels(tensor::KernelTable& table) {
  table.set(kScan, cuda_scan);
  table.set(kScanBackward, cuda_scan_backward);
}

}  // namespace dragoman::ssru
