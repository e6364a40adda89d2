/*
 * Lets another program write between two transactions of a program that knows nothing of it. Preloaded into a program,
 * this library asks before the program takes SQLite's write lock on one store in WAL mode, and after it has given up all
 * locks on one in a rollback-journal mode, and waits for the answer. So what each of the two does is the same each time.
 *
 * By environment variables:
 *   TURNS_STORE   the absolute path of the store
 *   TURNS_ASK     the number of a descriptor: a byte is written there before another program may write
 *   TURNS_ANSWER  the number of a descriptor: a byte is read there when it has written
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* SQLite's lock of a WAL's only writer: a byte of the file that ends in -shm. */
enum { write_lock = 120 };

static const char *store;
static int ask = -1, answer = -1;
/* Whether the program was asked for the write lock that it is about to take. It tries again while others hold it. */
static int has_asked;

__attribute__((constructor)) static void begin(void) {
    const char *asking = getenv("TURNS_ASK"), *answering = getenv("TURNS_ANSWER");
    store = getenv("TURNS_STORE");
    if (!store || !asking || !answering) return;
    ask = atoi(asking);
    answer = atoi(answering);
}

static void take_turns(void) {
    char byte = '.';
    int code = errno;
    if (syscall(SYS_write, ask, &byte, 1) == 1)
        while (syscall(SYS_read, answer, &byte, 1) < 0 && errno == EINTR) {}
    errno = code;
}

/* What follows the store's path in the path of an open file; NULL: it is another file. */
static const char *ending(int descriptor) {
    static __thread char path[PATH_MAX];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    size_t own = strlen(store);
    return strncmp(path, store, own) == 0 ? path + own : NULL;
}

static int control(int descriptor, int command, void *argument) {
    struct flock *lock = argument;
    if (ask < 0 || command != F_SETLK) return (int)syscall(SYS_fcntl, descriptor, command, argument);
    const char *end = ending(descriptor);
    int is_writer = end && strcmp(end, "-shm") == 0 && lock->l_type == F_WRLCK && lock->l_start == write_lock;
    int gives_up = end && !*end && lock->l_type == F_UNLCK && lock->l_start == 0 && lock->l_len == 0;
    if (is_writer && !has_asked) {
        take_turns();
        has_asked = 1;
    }
    int result = (int)syscall(SYS_fcntl, descriptor, command, argument);
    if (is_writer && result == 0) has_asked = 0;
    if (gives_up && result == 0) take_turns();
    return result;
}

#define CONTROL(function)                                       \
    int function(int descriptor, int command, ...) {            \
        va_list arguments;                                      \
        va_start(arguments, command);                           \
        void *argument = va_arg(arguments, void *);             \
        va_end(arguments);                                      \
        return control(descriptor, command, argument);          \
    }
CONTROL(fcntl)
CONTROL(fcntl64)
