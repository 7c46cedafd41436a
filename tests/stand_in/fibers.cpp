// Runs the blocks of a kernel one after the other, and the threads of a block in turns.
//
// Threads run on fibers. A fiber runs one thread after the other until one of them comes to a
// barrier: that thread stays on its fiber, and another fiber goes on with the threads that have
// not begun. So a kernel without barriers is a plain loop on one fiber, and one with barriers has
// a fiber for every thread, without anything having to be known about it beforehand.
//
// A phase is what lies between two barriers. The order of the threads is turned round after each,
// odd blocks begin with the last thread, and the last block comes first: what leans on an order
// that a device does not promise is wrong here too. Shared memory is spoilt before each block.
#include "fibers.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

extern "C" {
// Where the linker puts variables that are __shared__; both are null if there are none.
extern char __start_shared_words[] __attribute__((weak, visibility("hidden")));
extern char __stop_shared_words[] __attribute__((weak, visibility("hidden")));

unsigned long long stand_in_tallies[3];
}

namespace stand_in {

uint3 thread, block;
dim3 block_size, grid_size;
unsigned thread_number, threads, begun, ended;
bool descending;

namespace {

enum { BARRIER = 1, MEMORY = 2, ARITHMETIC = 3 };  // why a launch failed
constexpr unsigned MOST_THREADS = 1024;
constexpr size_t PAGE = 4096, STACK = 32 * PAGE, STRIDE = STACK + PAGE;

struct Fiber {
    jmp_buf at;  // where it stopped
    bool alive;
};

Fiber fibers[MOST_THREADS];
unsigned holder[MOST_THREADS];     // by thread: the fiber on which it waits
unsigned current, used;            // the fiber that runs; how many the block has needed so far
unsigned waiting, resumed;         // threads at the barrier; threads that went on in this phase
int barrier_line;                  // where the threads of this phase wait
char *stacks;
jmp_buf home;                      // the loop over blocks
sigjmp_buf landing;                // the launch, for what goes wrong
pthread_t launcher;
char reason[256];
char signal_stack[1 << 16];
void (*work)(void **);
void **arguments;

[[noreturn]] __attribute__((format(printf, 2, 3))) void fail(int code, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(reason, sizeof reason, format, values);
    va_end(values);
    siglongjmp(landing, code);
}

[[noreturn]] void go_on();

void live() {
    const unsigned self = current;
    for (;;) {
        current = self;
        work(arguments);
        if (_setjmp(fibers[self].at) == 0) go_on();
    }
}

[[noreturn]] void enter(unsigned fiber) {
    if (fibers[fiber].alive) _longjmp(fibers[fiber].at, 1);
    static ucontext_t start;
    if (getcontext(&start) != 0) fail(MEMORY, "no context for a fiber");
    char *stack = stacks + fiber * STRIDE + PAGE;  // the page below it may not be touched
    start.uc_stack.ss_sp = stack;
    start.uc_stack.ss_size = STACK - fiber % 64 * 64;  // not all in the same lines of the cache
    start.uc_link = nullptr;
    makecontext(&start, live, 0);
    fibers[fiber].alive = true;
    current = fiber;
    setcontext(&start);
    fail(MEMORY, "a fiber does not start");
}

// Gives the turn to the next thread; whoever calls it has written down where to come back to.
[[noreturn]] void go_on() {
    if (begun < threads) enter(used++);
    if (resumed == threads) {
        if (ended == threads) _longjmp(home, 1);
        if (ended > 0)
            fail(BARRIER,
                 "%u of the %u threads of block (%u, %u, %u) wait at the barrier in line %d, "
                 "but the others have ended",
                 waiting, threads, block.x, block.y, block.z, barrier_line);
        waiting = resumed = 0;
        descending = !descending;
    }
    const unsigned number = descending ? threads - 1 - resumed : resumed;
    ++resumed;
    _longjmp(fibers[holder[number]].at, 1);
}

void run_block() {
    begun = ended = used = waiting = 0;
    resumed = threads;
    const unsigned long long row = block.y + 1ull * grid_size.y * block.z;
    descending = (block.x + grid_size.x * row) % 2 == 1;
    if (__start_shared_words != nullptr)
        memset(__start_shared_words, 0xff, __stop_shared_words - __start_shared_words);
    if (_setjmp(home) == 0) go_on();
}

void run_blocks() {
    for (block.z = grid_size.z; block.z-- > 0;)
        for (block.y = grid_size.y; block.y-- > 0;)
            for (block.x = grid_size.x; block.x-- > 0;) run_block();
}

void caught(int number) {
    if (!pthread_equal(pthread_self(), launcher)) {  // not a kernel's fault
        signal(number, SIG_DFL);
        return;
    }
    siglongjmp(landing, number == SIGFPE ? ARITHMETIC : MEMORY);
}

bool allocate_stacks() {
    if (stacks != nullptr) return true;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *found = mmap(nullptr, MOST_THREADS * STRIDE, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (found == MAP_FAILED) return false;
    stacks = static_cast<char *>(found);
    for (unsigned f = 0; f < MOST_THREADS; ++f) mprotect(stacks + f * STRIDE, PAGE, PROT_NONE);
    return true;
}

}  // namespace

void barrier(int line) {
    if (waiting > 0 && line != barrier_line)
        fail(BARRIER, "threads of block (%u, %u, %u) wait at different barriers: lines %d and %d",
             block.x, block.y, block.z, barrier_line, line);
    barrier_line = line;
    const unsigned number = thread_number, fiber = current;
    holder[number] = fiber;
    ++waiting;
    if (_setjmp(fibers[fiber].at) == 0) go_on();
    current = fiber;
    be_thread(number);
}

// 0, or why it failed. `sizes` are the grid's three and the block's three.
int launch(void (*kernel)(void **), void **values, const unsigned *sizes) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE};
    static struct sigaction before[3];
    static stack_t stack_before;
    work = kernel;
    arguments = values;
    grid_size = {sizes[0], sizes[1], sizes[2]};
    block_size = {sizes[3], sizes[4], sizes[5]};
    threads = sizes[3] * sizes[4] * sizes[5];
    launcher = pthread_self();
    snprintf(reason, sizeof reason, "no memory for the stacks of fibers");
    if (!allocate_stacks()) return MEMORY;

    stack_t own = {};
    own.ss_sp = signal_stack;
    own.ss_size = sizeof signal_stack;
    sigaltstack(&own, &stack_before);
    struct sigaction action = {};
    action.sa_handler = caught;
    action.sa_flags = SA_ONSTACK;
    for (int s = 0; s < 3; ++s) sigaction(signals[s], &action, &before[s]);
    reason[0] = 0;
    const int code = sigsetjmp(landing, 1);
    if (code == 0)
        run_blocks();
    else
        for (Fiber &fiber : fibers) fiber.alive = false;
    for (int s = 0; s < 3; ++s) sigaction(signals[s], &before[s], nullptr);
    sigaltstack(&stack_before, nullptr);
    if (code != 0 && reason[0] == 0)
        snprintf(reason, sizeof reason, "in thread (%u, %u, %u) of block (%u, %u, %u)", thread.x,
                 thread.y, thread.z, block.x, block.y, block.z);
    return code;
}

}  // namespace stand_in

const char *stand_in_reason() { return stand_in::reason; }
