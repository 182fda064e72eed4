// Random masks. Included by kernels_*.cc only; see kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_MASK_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_MASK_KERNELS_H_

#include "cc/device/cpu/compiler.h"
#include "cc/device/cpu/math_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

// A vector of counters, of four words each, which the generator Threefry4x32-20
// encrypts (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3",
// section 3.4). The words have names, and the numbers of bits are constants, so
// that everything stays in registers.
struct Counters {
  using Words = Simd<float>::U;

  Words a, b, c, d;

  // The key has a fifth word, the parity of the others.
  CAVS_INLINE void Encrypt(const uint32_t* key) {
    Add<0>(key);
    RoundsOfEvenStep();
    Add<1>(key);
    RoundsOfOddStep();
    Add<2>(key);
    RoundsOfEvenStep();
    Add<3>(key);
    RoundsOfOddStep();
    Add<4>(key);
    RoundsOfEvenStep();
    Add<5>(key);
  }

 private:
  CAVS_INLINE void RoundsOfEvenStep() {
    TwoRounds<10, 26, 11, 21>();
    TwoRounds<13, 27, 23, 5>();
  }

  CAVS_INLINE void RoundsOfOddStep() {
    TwoRounds<6, 20, 17, 11>();
    TwoRounds<25, 10, 18, 20>();
  }

  template <int kAb, int kCd, int kAd, int kCb>
  CAVS_INLINE void TwoRounds() {
    Mix<kAb>(a, b);
    Mix<kCd>(c, d);
    Mix<kAd>(a, d);
    Mix<kCb>(c, b);
  }

  template <int kBits>
  CAVS_INLINE static void Mix(Words& x, Words& y) {
    x += y;
    y = (y << kBits | y >> (32 - kBits)) ^ x;
  }

  template <int kStep>
  CAVS_INLINE void Add(const uint32_t* key) {
    a += key[kStep % 5];
    b += key[(kStep + 1) % 5];
    c += key[(kStep + 2) % 5];
    d += key[(kStep + 3) % 5] + uint32_t{kStep};
  }
};

// Counters that are drawn together, whatever the instruction set, so that masks
// are the same: word i of counter c of a block is for element i * kCounters +
// c.
constexpr int kCounters = 16;

template <typename T>
void DrawMask(const RandomMask& mask, uint32_t row, T kept, int64_t n, T* out) {
  constexpr int kLanes = Simd<float>::kLanes;
  static_assert(kCounters % kLanes == 0);
  const uint32_t* const key = mask.key;
  const uint32_t keys[5] = {key[0], key[1], mask.number, 0,
                            0x1BD11BDA ^ key[0] ^ key[1] ^ mask.number};
  const T dropped{};
  Counters::Words lane;
  for (int i = 0; i < kLanes; ++i) lane[i] = static_cast<uint32_t>(i);
  for (int64_t first = 0; first < n; first += 4 * kCounters) {
    uint32_t drawn[4 * kCounters];
    for (int i = 0; i < kCounters; i += kLanes) {
      Counters counters = {lane + static_cast<uint32_t>(first / 4 + i),
                           row + Counters::Words{}, Counters::Words{},
                           Counters::Words{}};
      counters.Encrypt(keys);
      __builtin_memcpy(drawn + i, &counters.a, sizeof(counters.a));
      __builtin_memcpy(drawn + i + kCounters, &counters.b, sizeof(counters.b));
      __builtin_memcpy(drawn + i + 2 * kCounters, &counters.c,
                       sizeof(counters.c));
      __builtin_memcpy(drawn + i + 3 * kCounters, &counters.d,
                       sizeof(counters.d));
    }
    const int64_t count = Smaller(4 * kCounters, n - first);
    for (int64_t j = 0; j < count; ++j) {
      out[first + j] = drawn[j] < mask.threshold ? dropped : kept;
    }
  }
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_MASK_KERNELS_H_
