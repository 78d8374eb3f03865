#pragma once

/// The functions of the tests' libnccl.so.2 besides NCCL's own. Without CUDA, the library must provide the streams of a
/// device. A stream runs its work on a separate thread, in order.
///
/// Environment variables: FAKE_NCCL_VERSION (a code in the form of ncclGetVersion()), FAKE_NCCL_SILENT (the end of a
/// process is not detected, as between GPUs of one machine).
extern "C" {

/// The next calls of the calling thread refer to the device with this number.
void fakeNcclUseDevice(int device);
/// `open` is called before device memory is accessed, and `close` afterwards.
void* fakeNcclStreamCreate(int device, void (*open)(void*), void (*close)(void*), void* argument);
/// `reads` is called for memory before it is sent, and `wrote` for memory after it was received.
void fakeNcclStreamWatch(void* stream, void (*reads)(void*, const void*, unsigned long),
                         void (*wrote)(void*, const void*, unsigned long));
void fakeNcclStreamDestroy(void* stream);
/// Returns whether all work in the stream is done.
int fakeNcclStreamIdle(void* stream);
}
