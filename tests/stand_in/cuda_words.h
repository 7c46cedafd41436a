// The words of CUDA for a compiler of the host: stands before the source of a module.
//
// No header is included, as NVRTC includes none: what is missing here is either missing there too
// (INFINITY, int64_t, std::exp), or has not been needed yet and can be added.
#pragma once
#include "fibers.h"

// One of each for the block that runs, spoilt before each block (in templates: not spoilt).
#define __shared__ static __attribute__((section("shared_words")))
#define __syncthreads() stand_in::barrier(__LINE__)
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)

#define TALLY_READ(bytes) (stand_in_tallies[0] += static_cast<unsigned long long>(bytes))
#define TALLY_WRITE(bytes) (stand_in_tallies[1] += static_cast<unsigned long long>(bytes))
#define TALLY_FLOPS(n) (stand_in_tallies[2] += static_cast<unsigned long long>(n))

typedef decltype(sizeof 0) size_t;

static constexpr const uint3 &threadIdx = stand_in::thread, &blockIdx = stand_in::block;
static constexpr const dim3 &blockDim = stand_in::block_size, &gridDim = stand_in::grid_size;

#define OF_ONE(name)                    \
    extern "C" double name(double);     \
    extern "C" float name##f(float);    \
    static inline float name(float x) { return name##f(x); }
#define OF_TWO(name)                           \
    extern "C" double name(double, double);    \
    extern "C" float name##f(float, float);    \
    static inline float name(float x, float y) { return name##f(x, y); }
OF_ONE(exp)
OF_ONE(exp2)
OF_ONE(expm1)
OF_ONE(log)
OF_ONE(log2)
OF_ONE(log1p)
OF_ONE(sqrt)
OF_ONE(fabs)
OF_ONE(floor)
OF_ONE(ceil)
OF_TWO(fmax)
OF_TWO(fmin)
OF_TWO(pow)
#undef OF_ONE
#undef OF_TWO
extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);

static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }

#define OF_ANY(type)                                                  \
    static inline type max(type x, type y) { return x < y ? y : x; }  \
    static inline type min(type x, type y) { return y < x ? y : x; }
OF_ANY(int)
OF_ANY(unsigned)
OF_ANY(long long)
OF_ANY(unsigned long long)
#undef OF_ANY
static inline double max(double x, double y) { return fmax(x, y); }
static inline double min(double x, double y) { return fmin(x, y); }
static inline float max(float x, float y) { return fmaxf(x, y); }
static inline float min(float x, float y) { return fminf(x, y); }

namespace stand_in {

template <typename To, typename From>
inline To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

}  // namespace stand_in

static inline double __longlong_as_double(long long x) { return stand_in::same_bits<double>(x); }
static inline long long __double_as_longlong(double x) {
    return stand_in::same_bits<long long>(x);
}
static inline float __int_as_float(int x) { return stand_in::same_bits<float>(x); }
static inline int __float_as_int(float x) { return stand_in::same_bits<int>(x); }

template <typename T>
static inline T __ldg(const T *address) {
    return *address;
}

// How a kernel is called: with the values of its arguments, for every thread of a block.
namespace stand_in {

template <int... i>
struct places {};
template <int n, int... i>
struct places_up_to : places_up_to<n - 1, n - 1, i...> {};
template <int... i>
struct places_up_to<0, i...> {
    using type = places<i...>;
};

// NumPy's letter for a type; types that are not here cannot be arguments.
template <typename T>
struct argument_type;
#define LETTER(type, sign) \
    template <>            \
    struct argument_type<type> { static constexpr char letter = sign, kind = 'v'; };
LETTER(bool, '?')
LETTER(signed char, 'b')
LETTER(unsigned char, 'B')
LETTER(short, 'h')
LETTER(unsigned short, 'H')
LETTER(int, 'i')
LETTER(unsigned, 'I')
LETTER(long long, 'q')
LETTER(unsigned long long, 'Q')
LETTER(float, 'f')
LETTER(double, 'd')
#undef LETTER
template <typename T>
struct argument_type<const T> : argument_type<T> {};
template <typename T>
struct argument_type<T *> {
    static constexpr char letter = argument_type<T>::letter, kind = 'p';
    static_assert(argument_type<T>::kind == 'v', "pointers to pointers cannot be arguments");
};

template <auto kernel>
struct launcher;
template <typename... A, void (*kernel)(A...)>
struct launcher<kernel> {
    static constexpr char signature[] = {argument_type<A>::kind..., argument_type<A>::letter..., 0};
    using all = typename places_up_to<sizeof...(A)>::type;

    static void each_thread(A... values) {
        while (next_thread()) {
            kernel(values...);
            ++ended;
        }
    }
    template <int... i>
    static void unpack([[maybe_unused]] void **arguments, places<i...>) {
        each_thread(*static_cast<A *>(arguments[i])...);
    }
    static void work(void **arguments) { unpack(arguments, all()); }
};

}  // namespace stand_in

#define KERNEL(name)                                                                            \
    extern "C" __attribute__((visibility("default"))) const char *signature_##name() {          \
        return stand_in::launcher<name>::signature;                                             \
    }                                                                                           \
    extern "C" __attribute__((visibility("default"))) int launch_##name(const unsigned *sizes,  \
                                                                        void **arguments) {     \
        return stand_in::launch(stand_in::launcher<name>::work, arguments, sizes);              \
    }
