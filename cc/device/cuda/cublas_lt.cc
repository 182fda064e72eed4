#include "cc/device/cuda/cublas_lt.h"

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>
#include <utility>

#include "cc/device/cuda/library_paths.h"

namespace cavs {
namespace {

// Numbers of the library's enumerations.
enum Real : int { kReal32 = 0, kReal64 = 1, kReal16 = 2, kRealB16 = 14 };
enum Compute : int { kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77 };
// Attributes of operations and preferences.
constexpr int kTransposeA = 3, kTransposeB = 4;
constexpr int kMostWorkspace = 1, kReductions = 3;
constexpr int kAlignmentOfA = 5;  // B, C and D follow.
// Parts of sums are added in a step of their own, in the type of sums.
constexpr uint32_t kReductionInSumType = 2;

constexpr uint32_t kAlignment = 16;
constexpr size_t kWorkspaceAlignment = 256;
// About what a GPU does while one more launch begins.
constexpr int64_t kLeastMultiplyAdds = int64_t{1} << 25;
// Every minibatch may have shapes of its own.
constexpr size_t kMostPlans = 4096;

Real RealOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return kReal64;
    case DType::kBFloat16:
      return kRealB16;
    case DType::kFloat16:
      return kReal16;
    default:
      return kReal32;
  }
}

// 1 or 0, in the type that sums of a type are formed in.
const void* Factor(int64_t type, bool one) {
  static constexpr float kFactors[] = {0, 1};
  static constexpr double kWideFactors[] = {0, 1};
  if (type == kReal64) return &kWideFactors[one];
  return &kFactors[one];
}

bool IsAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
}

// Whether rows lie one behind the other, as the library reads them.
bool IsDense(const ConstBlock& rows) {
  return rows.index == nullptr && rows.pitch >= rows.cols;
}

// Whether the user says so of the library: 0, not to use it, or 1, to need it.
bool IsSet(const char* to) {
  const char* const wanted = std::getenv("CAVS_CUBLASLT");
  return wanted != nullptr && std::string(wanted) == to;
}

Status Missing(const std::string& got) {
  return Status(StatusCode::kUnimplemented,
                StrCat("cuBLASLt: got ", got,
                       " but expected NVIDIA's library of products. Run `pip "
                       "install 'tensorflow[and-cuda]'`, set CAVS_LIBCUBLASLT "
                       "to the path of libcublasLt.so, or set "
                       "CAVS_CUBLASLT=0."));
}

}  // namespace

// The library's functions, declared here so that its header is not needed: the
// name, and the type. What the library calls by a handle is a void* here.
#define CAVS_CUBLASLT_FUNCTIONS(F)                                            \
  F(Create, (void** handle))                                                  \
  F(Destroy, (void* handle))                                                  \
  F(MatmulDescCreate, (void** made, int compute, int scale))                  \
  F(MatmulDescSetAttribute,                                                   \
    (void* of, int attribute, const void* value, size_t bytes))               \
  F(MatmulDescDestroy, (void* made))                                          \
  F(MatrixLayoutCreate,                                                       \
    (void** made, int type, uint64_t rows, uint64_t columns, int64_t pitch))  \
  F(MatrixLayoutDestroy, (void* made))                                        \
  F(MatmulPreferenceCreate, (void** made))                                    \
  F(MatmulPreferenceSetAttribute,                                             \
    (void* of, int attribute, const void* value, size_t bytes))               \
  F(MatmulPreferenceDestroy, (void* made))                                    \
  F(MatmulAlgoGetHeuristic,                                                   \
    (void* handle, void* operation, void* a, void* b, void* c, void* d,       \
     void* preference, int most, CublasLtFound* found, int* count))           \
  F(Matmul, (void* handle, void* operation, const void* alpha, const void* a, \
             void* a_layout, const void* b, void* b_layout, const void* beta, \
             const void* c, void* c_layout, void* d, void* d_layout,          \
             const CublasLtAlgorithm* algorithm, void* workspace,             \
             size_t workspace_bytes, CudaStreamHandle stream))

struct CublasLtAlgorithm {
  uint64_t data[8];
};
struct CublasLtFound {
  CublasLtAlgorithm algorithm;
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

struct CublasLt::Functions {
#define CAVS_CUBLASLT_MEMBER(name, arguments) int(*name) arguments = nullptr;
  CAVS_CUBLASLT_FUNCTIONS(CAVS_CUBLASLT_MEMBER)
#undef CAVS_CUBLASLT_MEMBER
  const char* (*GetStatusName)(int status) = nullptr;

  bool FindIn(void* library) {
    bool all = true;
    const auto find = [&](const char* name, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(
          dlsym(library, name));
      all = all && *function != nullptr;
    };
    find("cublasLtGetStatusName", &GetStatusName);
#define CAVS_CUBLASLT_FIND(name, arguments) find("cublasLt" #name, &name);
    CAVS_CUBLASLT_FUNCTIONS(CAVS_CUBLASLT_FIND)
#undef CAVS_CUBLASLT_FIND
    return all;
  }
};

struct CublasLt::Plan {
  explicit Plan(const Functions& library) : library(library) {}
  ~Plan() {
    if (operation != nullptr) library.MatmulDescDestroy(operation);
    if (preference != nullptr) library.MatmulPreferenceDestroy(preference);
    for (void* const layout : {a, b, to}) {
      if (layout != nullptr) library.MatrixLayoutDestroy(layout);
    }
  }
  Plan(const Plan&) = delete;

  const Functions& library;
  void *operation = nullptr, *preference = nullptr;
  void *a = nullptr, *b = nullptr, *to = nullptr;  // Layouts.
  CublasLtAlgorithm algorithm{};
  bool works = false;
};

CublasLt::CublasLt(std::unique_ptr<const Functions> functions, void* handle)
    : functions_(std::move(functions)), handle_(handle) {}

CublasLt::~CublasLt() {
  plans_.clear();
  functions_->Destroy(handle_);
}

Status CublasLt::Load(const std::vector<std::string>& candidates,
                      std::unique_ptr<const CublasLt>* library) {
  if (IsSet("0")) return Status();
  std::string path;
  std::unique_ptr<const Functions> functions;
  Status status = Find(candidates, &path, &functions);
  void* handle = nullptr;
  if (status.ok()) {
    const int created = functions->Create(&handle);
    if (created != 0) {
      status =
          Missing(StrCat(functions->GetStatusName(created), " from ", path));
    }
  }
  if (!status.ok()) return IsSet("1") ? status : Status();
  library->reset(new CublasLt(std::move(functions), handle));
  return Status();
}

std::string CublasLt::Report(const std::vector<std::string>& candidates) {
  if (IsSet("0")) return "";
  std::string path;
  std::unique_ptr<const Functions> functions;
  const Status status = Find(candidates, &path, &functions);
  if (status.ok()) return "cuBLASLt: " + path;
  return IsSet("1") ? status.message()
                    : "cuBLASLt: none, so that our kernels form all products";
}

Status CublasLt::Find(const std::vector<std::string>& candidates,
                      std::string* path,
                      std::unique_ptr<const Functions>* functions) {
  const std::vector<std::string> paths =
      LibraryPaths("CAVS_LIBCUBLASLT", candidates,
                   {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                    "/usr/local/cuda/lib64/libcublasLt.so"});
  for (const std::string& own : paths) {
    void* const found = dlopen(own.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto made = std::make_unique<Functions>();
    if (found == nullptr || !made->FindIn(found)) continue;
    *path = own;
    *functions = std::move(made);
    return Status();
  }
  return Missing("no library of the name " + OneOf(paths));
}

bool CublasLt::IsLarge(int64_t rows, int64_t depth, int64_t columns) {
  // Our kernels never round products of few rows to TF32.
  return rows > kCudaFewRows && static_cast<double>(rows) *
                                        static_cast<double>(depth) *
                                        static_cast<double>(columns) >=
                                    static_cast<double>(kLeastMultiplyAdds);
}

// A sum of several products is rounded once, which the library can do only
// where nothing is rounded.
Status CublasLt::Form(DType dtype, const CudaProduct& product,
                      const CudaQueue& queue, void* workspace,
                      bool* done) const {
  *done = false;
  const Block& to = product.to;
  if (product.alike || (product.terms.size() > 1 && SumType(dtype) != dtype)) {
    return Status();
  }
  std::vector<Matmul> products;
  for (const CudaProduct::Term& term : product.terms) {
    const ConstBlock& x = term.from;
    if (!IsDense(x) || !IsLarge(to.rows, x.cols, to.cols)) return Status();
    const Shape shape = {RealOf(dtype), RealOf(dtype),  queue.tf32, to.cols,
                         to.rows,       x.cols,         term.pitch, x.pitch,
                         to.pitch,      term.transpose, false};
    products.push_back({shape, term.weight, x.data, to.data,
                        product.accumulate || !products.empty()});
  }
  return Run(products, queue.stream, workspace, done);
}

// Our kernels skip rows of zeros, which the library multiplies.
Status CublasLt::Form(DType dtype, const CudaSum& sum, const CudaQueue& queue,
                      void* workspace, bool* done) const {
  *done = false;
  const ConstBlock &x = sum.x, &y = sum.y;
  if (!IsDense(x) || !IsDense(y) || !IsLarge(y.rows, x.cols, y.cols) ||
      2 * sum.zeros > y.rows) {
    return Status();
  }
  const Shape shape = {RealOf(dtype), RealOf(SumType(dtype)),
                       queue.tf32,    y.cols,
                       x.cols,        y.rows,
                       y.pitch,       x.pitch,
                       y.cols,        false,
                       true};
  return Run({{shape, y.data, x.data, sum.to, sum.accumulate}}, queue.stream,
             workspace, done);
}

Status CublasLt::Run(const std::vector<Matmul>& products,
                     CudaStreamHandle stream, void* workspace,
                     bool* done) const {
  std::vector<std::shared_ptr<const Plan>> plans;
  for (const Matmul& own : products) {
    if (!IsAligned(own.a) || !IsAligned(own.b) || !IsAligned(own.to)) {
      return Status();
    }
    plans.push_back(PlanOf(own.shape));
    if (!plans.back()->works) return Status();
  }
  const uintptr_t begin =
      (reinterpret_cast<uintptr_t>(workspace) + kWorkspaceAlignment - 1) /
      kWorkspaceAlignment * kWorkspaceAlignment;
  for (size_t i = 0; i < products.size(); ++i) {
    const Matmul& own = products[i];
    const Plan& plan = *plans[i];
    const int status = functions_->Matmul(
        handle_, plan.operation, Factor(own.shape[0], true), own.a, plan.a,
        own.b, plan.b, Factor(own.shape[0], own.accumulate), own.to, plan.to,
        own.to, plan.to, &plan.algorithm, reinterpret_cast<void*>(begin),
        kWorkspaceBytes - kWorkspaceAlignment, stream);
    if (status != 0) {
      return Internal("cuBLASLt: got ", functions_->GetStatusName(status),
                      " from a product but expected success. Set "
                      "CAVS_CUBLASLT=0, or use the CPU.");
    }
  }
  *done = true;
  return Status();
}

std::shared_ptr<const CublasLt::Plan> CublasLt::PlanOf(
    const Shape& shape) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();
  std::shared_ptr<const Plan>& plan = plans_[shape];
  if (plan == nullptr) plan = MakePlan(shape);
  return plan;
}

std::shared_ptr<const CublasLt::Plan> CublasLt::MakePlan(
    const Shape& shape) const {
  const Functions& library = *functions_;
  auto plan = std::make_shared<Plan>(library);
  const auto& [in, out, tf32, m, n, k, a_pitch, b_pitch, pitch, a_transposed,
               b_transposed] = shape;
  const auto set = [](auto* function, void* of, int attribute, auto value) {
    return function(of, attribute, &value, sizeof(value)) == 0;
  };
  const auto layout = [&](void** made, int64_t type, int64_t rows,
                          int64_t columns, int64_t apart, bool transposed) {
    if (transposed) std::swap(rows, columns);
    return library.MatrixLayoutCreate(made, static_cast<int>(type), rows,
                                      columns, apart) == 0;
  };
  const bool wide = in == kReal64;
  const int compute = wide                    ? kCompute64
                      : tf32 && in == kReal32 ? kComputeTf32
                                              : kCompute32;
  bool works = library.MatmulDescCreate(&plan->operation, compute,
                                        wide ? kReal64 : kReal32) == 0 &&
               set(library.MatmulDescSetAttribute, plan->operation, kTransposeA,
                   static_cast<int32_t>(a_transposed)) &&
               set(library.MatmulDescSetAttribute, plan->operation, kTransposeB,
                   static_cast<int32_t>(b_transposed)) &&
               layout(&plan->a, in, m, k, a_pitch, a_transposed) &&
               layout(&plan->b, in, k, n, b_pitch, b_transposed) &&
               layout(&plan->to, out, m, n, pitch, false) &&
               library.MatmulPreferenceCreate(&plan->preference) == 0;
  const auto prefer = [&](int attribute, auto value) {
    works = works && set(library.MatmulPreferenceSetAttribute, plan->preference,
                         attribute, value);
  };
  prefer(kMostWorkspace, uint64_t{kWorkspaceBytes - kWorkspaceAlignment});
  prefer(kReductions, kReductionInSumType);
  for (int i = 0; i < 4; ++i) prefer(kAlignmentOfA + i, kAlignment);
  CublasLtFound found{};
  int count = 0;
  plan->works = works &&
                library.MatmulAlgoGetHeuristic(
                    handle_, plan->operation, plan->a, plan->b, plan->to,
                    plan->to, plan->preference, 1, &found, &count) == 0 &&
                count == 1 && found.status == 0;
  plan->algorithm = found.algorithm;
  return plan;
}

}  // namespace cavs
