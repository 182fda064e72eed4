// Arithmetic that takes subnormal numbers for zero, as on TensorFlow's threads.
#ifndef CAVS_TESTS_CC_BASE_FLUSH_SUBNORMALS_H_
#define CAVS_TESTS_CC_BASE_FLUSH_SUBNORMALS_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace cavs {

// For the calling thread, while this lives; on x86-64 alone.
class FlushSubnormals {
 public:
#if defined(__x86_64__)
  FlushSubnormals() { _mm_setcsr(saved_ | kFlushToZero | kSubnormalsAreZero); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }

 private:
  static constexpr unsigned kFlushToZero = 0x8000, kSubnormalsAreZero = 0x40;
  const unsigned saved_ = _mm_getcsr();
#else
  FlushSubnormals() {}
#endif
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_BASE_FLUSH_SUBNORMALS_H_
