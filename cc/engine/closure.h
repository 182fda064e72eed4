// The function of an operation, kept inside the operation.
#ifndef CAVS_CC_ENGINE_CLOSURE_H_
#define CAVS_CC_ENGINE_CLOSURE_H_

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace cavs::engine {

class Completion;

// A Closure owns one callable with the signature void(Completion*). Callables
// of up to kInlineBytes that move without throwing cost no allocation; others
// live on the heap. Unlike a std::function, a Closure can only be moved, so its
// captures need not be copyable. An operation owns its Closure, and the thread
// that runs the operation calls it.
class Closure {
 public:
  static constexpr size_t kInlineBytes = 64;

  Closure() = default;
  template <typename F>
  static Closure Of(F fn) {
    Closure closure;
    if constexpr (IsInline<F>()) {
      new (closure.bytes_) F(std::move(fn));
      closure.table_ = &kInlineTable<F>;
    } else {
      new (closure.bytes_) F*(new F(std::move(fn)));
      closure.table_ = &kHeapTable<F>;
    }
    return closure;
  }

  Closure(Closure&& other) noexcept { *this = std::move(other); }
  Closure& operator=(Closure&& other) noexcept {
    Reset();
    if (other.table_ != nullptr) other.table_->move(other.bytes_, bytes_);
    table_ = std::exchange(other.table_, nullptr);
    return *this;
  }
  ~Closure() { Reset(); }

  void operator()(Completion* done) { table_->call(bytes_, done); }

  // Destroys the callable, and with it its captures.
  void Reset() {
    if (const Table* table = std::exchange(table_, nullptr)) {
      table->destroy(bytes_);
    }
  }

 private:
  struct Table {
    void (*call)(void* self, Completion* done);
    // Moves the callable to `to`. The caller must not destroy `from`
    // afterwards.
    void (*move)(void* from, void* to);
    void (*destroy)(void* self);
  };

  template <typename F>
  static constexpr bool IsInline() {
    return sizeof(F) <= kInlineBytes &&
           alignof(F) <= alignof(std::max_align_t) &&
           std::is_nothrow_move_constructible_v<F>;
  }

  template <typename F>
  static constexpr Table kInlineTable = {
      [](void* self, Completion* done) { (*static_cast<F*>(self))(done); },
      [](void* from, void* to) {
        new (to) F(std::move(*static_cast<F*>(from)));
        static_cast<F*>(from)->~F();
      },
      [](void* self) { static_cast<F*>(self)->~F(); }};

  template <typename F>
  static constexpr Table kHeapTable = {
      [](void* self, Completion* done) { (**static_cast<F**>(self))(done); },
      [](void* from, void* to) { new (to) F*(*static_cast<F**>(from)); },
      [](void* self) { delete *static_cast<F**>(self); }};

  const Table* table_ = nullptr;
  alignas(std::max_align_t) unsigned char bytes_[kInlineBytes];
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_CLOSURE_H_
