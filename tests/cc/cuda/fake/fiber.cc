#include "tests/cc/cuda/fake/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifndef __x86_64__
#error "Fibers are written for x86-64."
#endif

// Of AddressSanitizer, where the process has it.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** save,
                                                          const void* bottom,
                                                          size_t bytes);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* saved,
                                                           const void** bottom,
                                                           size_t* bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void*,
                                                         size_t);

void cavs_fake_switch(void** save, void* to);
void cavs_fake_start();
}

// Saves the registers that a call preserves, and takes those of another stack.
// A new fiber finds its function in r13 and the argument in r12.
asm(R"(
.text
.globl cavs_fake_switch
.hidden cavs_fake_switch
.type cavs_fake_switch,@function
cavs_fake_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cavs_fake_switch,.-cavs_fake_switch
.globl cavs_fake_start
.hidden cavs_fake_start
.type cavs_fake_start,@function
cavs_fake_start:
  movq %r12, %rdi
  callq *%r13
  ud2
.size cavs_fake_start,.-cavs_fake_start
.section .note.GNU-stack,"",@progbits
.text
)");

namespace cavs_fake {
namespace {

constexpr size_t kStacksPerSlab = 64;
constexpr uint64_t kCanary = 0x5afe57ac5afe57ac;

}  // namespace

Fibers::~Fibers() {
  for (char* slab : slabs_) munmap(slab, kStacksPerSlab * kStackBytes);
}

Fiber* Fibers::Take() {
  if (idle_.empty()) {
    void* slab =
        mmap(nullptr, kStacksPerSlab * kStackBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) {
      std::perror("stacks of fibers");
      std::abort();
    }
    slabs_.push_back(static_cast<char*>(slab));
    for (size_t i = 0; i < kStacksPerSlab; ++i) {
      all_.push_back(std::make_unique<Fiber>());
      all_.back()->stack = slabs_.back() + i * kStackBytes;
      Prepare(*all_.back());
      idle_.push_back(all_.back().get());
    }
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void Fibers::Prepare(Fiber& fiber) {
  std::memcpy(fiber.stack, &kCanary, sizeof(kCanary));
  void** at = reinterpret_cast<void**>(fiber.stack + kStackBytes) - 9;
  at[2] = reinterpret_cast<void*>(body_);  // r13
  at[3] = self_;                           // r12
  at[6] = reinterpret_cast<void*>(&cavs_fake_start);
  fiber.at = at;
  fiber.sanitizer = nullptr;
}

void Fibers::Restart() {
  idle_.clear();
  for (const auto& fiber : all_) {
    if (__asan_unpoison_memory_region != nullptr) {
      __asan_unpoison_memory_region(fiber->stack, kStackBytes);
    }
    Prepare(*fiber);
    idle_.push_back(fiber.get());
  }
}

void Fibers::Enter(Fiber* fiber) {
  current_ = fiber;
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(&main_sanitizer_, fiber->stack, kStackBytes);
  }
  cavs_fake_switch(&main_, fiber->at);
  if (__sanitizer_finish_switch_fiber != nullptr) {
    __sanitizer_finish_switch_fiber(main_sanitizer_, nullptr, nullptr);
  }
  current_ = nullptr;
}

void Fibers::Leave() {
  Fiber* fiber = current_;
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(&fiber->sanitizer, main_bottom_,
                                   main_bytes_);
  }
  cavs_fake_switch(&fiber->at, main_);
  if (__sanitizer_finish_switch_fiber != nullptr) {
    __sanitizer_finish_switch_fiber(fiber->sanitizer, &main_bottom_,
                                    &main_bytes_);
  }
}

void Fibers::Arrive() {
  if (__sanitizer_finish_switch_fiber != nullptr) {
    __sanitizer_finish_switch_fiber(nullptr, &main_bottom_, &main_bytes_);
  }
}

bool Fibers::Overflown(const Fiber& fiber) const {
  return std::memcmp(fiber.stack, &kCanary, sizeof(kCanary)) != 0;
}

}  // namespace cavs_fake
