#pragma once

namespace dragoman::backend::cuda::device {

/// Makes later launches of the calling thread run on the device of this number.
void use(int number);
/// Returns when all launches of the calling thread are complete.
void wait();

}  // namespace dragoman::backend::cuda::device
