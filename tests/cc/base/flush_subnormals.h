// Lets arithmetic flush subnormal numbers to zero, as on TensorFlow's threads.
#ifndef CAVS_TESTS_CC_BASE_FLUSH_SUBNORMALS_H_
#define CAVS_TESTS_CC_BASE_FLUSH_SUBNORMALS_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace cavs {

// While it lives, arithmetic on the calling thread flushes subnormal numbers to
// zero. It has no effect on processors other than x86-64.
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
