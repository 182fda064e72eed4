// The text of "cavs_device.h", which every kernel includes.
#ifndef CAVS_CC_DEVICE_CUDA_SOURCE_DEVICE_HEADER_H_
#define CAVS_CC_DEVICE_CUDA_SOURCE_DEVICE_HEADER_H_

namespace cavs {

// The words in which kernels are written: what a thread is, what memory is, and
// what only a GPU has. Everything that depends on the machine stands here, so
// that kernels also run where this header is replaced by another one.
extern const char kDeviceHeader[];

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_SOURCE_DEVICE_HEADER_H_
