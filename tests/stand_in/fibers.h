// What kernels and the part that runs them (fibers.cpp) share.
#pragma once

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    operator uint3() const { return {x, y, z}; }
};

#pragma GCC visibility push(hidden)
namespace stand_in {

extern uint3 thread, block;         // the thread that runs, and its block
extern dim3 block_size, grid_size;  // as launched
extern unsigned thread_number;      // of the thread that runs, within its block
extern unsigned threads;            // in a block
extern unsigned begun, ended;       // threads of the block that runs
extern bool descending;             // the order in which threads take their turns at present

void barrier(int line);
int launch(void (*work)(void **), void **arguments, const unsigned *sizes);

inline void be_thread(unsigned number) {
    thread_number = number;
    if (block_size.y * block_size.z == 1) {
        thread = {number, 0, 0};
    } else {
        const unsigned rest = number / block_size.x;
        thread = {number % block_size.x, rest % block_size.y, rest / block_size.y};
    }
}

// The next thread of the block that has not begun yet becomes the one that runs, if there is one.
inline bool next_thread() {
    if (begun == threads) return false;
    be_thread(descending ? threads - 1 - begun : begun);
    ++begun;
    return true;
}

}  // namespace stand_in
#pragma GCC visibility pop

extern "C" __attribute__((visibility("default"))) unsigned long long stand_in_tallies[3];
extern "C" __attribute__((visibility("default"))) const char *stand_in_reason();
