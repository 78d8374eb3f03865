#pragma once

namespace dragoman::backend::cuda::device {

/// What the calling thread launches from now on runs on the device of this number.
void use(int number);
/// Returns when all is done that the calling thread has launched.
void wait();

}  // namespace dragoman::backend::cuda::device
