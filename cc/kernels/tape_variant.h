// A tape as a TensorFlow tensor.
#ifndef CAVS_CC_KERNELS_TAPE_VARIANT_H_
#define CAVS_CC_KERNELS_TAPE_VARIANT_H_

#include <memory>
#include <string>

#include "cc/base/no_throw.h"
#include "cc/base/status.h"
#include "cc/exec/storage_pool.h"
#include "cc/exec/tape.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace cavs {

// A TapeVariant is the value of a tensor that holds a tape. Copies refer to one
// tape, which never changes and is freed with the last copy. The tape is null
// if none was kept. It lies in the memory of the host, wherever TensorFlow puts
// the tensor.
struct TapeVariant {
  std::shared_ptr<const Tape> tape;
  // The pool from which the tape has its memory. The backward direction reuses
  // memory that the forward direction has returned to it.
  std::shared_ptr<StoragePool> pool;
  // OpDevice::NameOfMemory() of the forward direction.
  std::string device;

  static constexpr const char kTypeName[] = "cavs::TapeVariant";
  std::string TypeName() const { return kTypeName; }
  std::string DebugString() const { return kTypeName; }
  // A tape never leaves the process.
  void Encode(tensorflow::VariantTensorData* data) const {
    (void)NoThrow([&] {
      data->set_type_name(TypeName());
      return Status();
    });
  }
  bool Decode(const tensorflow::VariantTensorData&) { return false; }
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_TAPE_VARIANT_H_
