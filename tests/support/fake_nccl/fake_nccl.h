#pragma once

/// What the tests' libnccl.so.2 has besides NCCL's own functions: a device's streams, which it has to make itself,
/// since there is no CUDA. A stream runs what is put into it on a thread of its own, in order.
///
/// Variables of the environment: FAKE_NCCL_VERSION (a code as ncclGetVersion() gives it), FAKE_NCCL_SILENT (a process
/// that has ended is noticed by nobody, as between GPUs of one machine).
extern "C" {

/// What the calling thread does next is for the device of this number.
void fakeNcclUseDevice(int device);
/// `open` is called before the device's memory is touched, and `close` afterwards.
void* fakeNcclStreamCreate(int device, void (*open)(void*), void (*close)(void*), void* argument);
/// `reads` is called for memory that is about to be sent, and `wrote` for memory that something has come to.
void fakeNcclStreamWatch(void* stream, void (*reads)(void*, const void*, unsigned long),
                         void (*wrote)(void*, const void*, unsigned long));
void fakeNcclStreamDestroy(void* stream);
/// Whether all is done that was put into it.
int fakeNcclStreamIdle(void* stream);
}
