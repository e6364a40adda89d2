/*
 * Faults for a program that knows nothing of them: preloaded into it, this library stands between the program and the
 * C library for every call that changes a file below one folder.
 *
 * The calls are counted from 1. By environment variables:
 *   FAULTS_UNDER      the folder; other files are left alone, and so are -shm files, which no crash preserves
 *   FAULTS_LOG        a file that takes a record of each call, for tests of power loss
 *   FAULTS_COUNT      a file that takes the two counts of the calls, of changes and of reads, when the program ends
 *   FAULTS_KILL_AT    n: the process is killed (SIGKILL) in place of the n-th call; a write is done by half
 *   FAULTS_FULL_FROM  n: from the n-th call on, every call that needs room fails with ENOSPC
 *   FAULTS_FAIL_AT    n: the n-th call fails with EIO
 *   FAULTS_READ_AT    n: the n-th read fails with EIO
 *
 * A record is a line of text, and for a write its bytes: see powerloss.py, which reads them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { largest_descriptor = 1024 };

static char under[PATH_MAX];
static size_t under_length;
static int log_descriptor = -1;
static long kill_at, full_from, fail_at, read_at;
static long change_count, read_count;
static char *paths[largest_descriptor];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("FAULTS_UNDER");
    if (!folder || !realpath(folder, under)) return;
    strcat(under, "/");
    under_length = strlen(under);
    kill_at = number("FAULTS_KILL_AT");
    full_from = number("FAULTS_FULL_FROM");
    fail_at = number("FAULTS_FAIL_AT");
    read_at = number("FAULTS_READ_AT");
    const char *log = getenv("FAULTS_LOG");
    if (log) log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((destructor)) static void end(void) {
    const char *file = getenv("FAULTS_COUNT");
    if (!under_length || !file) return;
    char text[64];
    int length = snprintf(text, sizeof text, "%ld %ld\n", change_count, read_count);
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    syscall(SYS_write, descriptor, text, (size_t)length);
    syscall(SYS_close, descriptor);
}

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The path below the folder, or NULL: none of ours. The program names its files by absolute paths without links. */
static const char *ours(const char *path) {
    if (!under_length || !path || ends_with(path, "-shm")) return NULL;
    if (strncmp(path, under, under_length) == 0) return path + under_length;
    return strlen(path) == under_length - 1 && strncmp(path, under, under_length - 1) == 0 ? "." : NULL;
}

static const char *opened(int descriptor) {
    return descriptor >= 0 && descriptor < largest_descriptor ? paths[descriptor] : NULL;
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts a change. What is returned is 0 or the error that it shall fail with. `write` needs to know of a kill itself. */
static int change(int needs_room, int *shall_die) {
    pthread_mutex_lock(&lock);
    long n = ++change_count;
    pthread_mutex_unlock(&lock);
    if (kill_at && n == kill_at) {
        if (!shall_die) die();
        *shall_die = 1;
    }
    if (fail_at && n == fail_at) return EIO;
    if (full_from && n >= full_from && needs_room) return ENOSPC;
    return 0;
}

static void record(const void *bytes, size_t length, const char *format, ...) {
    if (log_descriptor < 0) return;
    char line[2 * PATH_MAX + 64];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    syscall(SYS_write, log_descriptor, line, (size_t)count);
    if (length) syscall(SYS_write, log_descriptor, bytes, length);
    syscall(SYS_write, log_descriptor, "\n", 1);
    pthread_mutex_unlock(&lock);
}

#define FAIL(code) do { errno = (code); return -1; } while (0)

static int open_file(const char *path, int flags, mode_t mode) {
    const char *name = ours(path);
    int creates = 0;
    if (name && (flags & (O_CREAT | O_TRUNC))) {
        struct stat status;
        creates = stat(path, &status) != 0;
        if (creates || ((flags & O_TRUNC) && status.st_size > 0)) {
            int code = change(creates, NULL);
            if (code) FAIL(code);
        }
    }
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (descriptor < 0 || !name || descriptor >= largest_descriptor) return descriptor;
    free(paths[descriptor]);
    paths[descriptor] = strdup(name);
    if (creates) record(NULL, 0, "create\t%s\t%o", name, mode);
    if (!creates && (flags & O_TRUNC)) record(NULL, 0, "truncate\t%s\t0", name);
    return descriptor;
}

#define OPEN(function)                                                  \
    int function(const char *path, int flags, ...) {                    \
        mode_t mode = 0;                                                \
        if (flags & (O_CREAT | O_TMPFILE)) {                            \
            va_list arguments;                                          \
            va_start(arguments, flags);                                 \
            mode = (mode_t)va_arg(arguments, unsigned);                 \
            va_end(arguments);                                          \
        }                                                               \
        return open_file(path, flags, mode);                            \
    }
OPEN(open)
OPEN(open64)

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < largest_descriptor && paths[descriptor]) {
        free(paths[descriptor]);
        paths[descriptor] = NULL;
    }
    return (int)syscall(SYS_close, descriptor);
}

static ssize_t write_at(int descriptor, const void *bytes, size_t length, off_t offset) {
    const char *name = opened(descriptor);
    int dies = 0;
    if (name) {
        int code = change(1, &dies);
        if (code) FAIL(code);
    }
    if (dies) length /= 2;
    ssize_t done = offset < 0 ? syscall(SYS_write, descriptor, bytes, length)
                              : syscall(SYS_pwrite64, descriptor, bytes, length, offset);
    if (dies) die();
    if (name && done > 0) {
        if (offset < 0) offset = lseek(descriptor, 0, SEEK_CUR) - done;
        record(bytes, (size_t)done, "write\t%s\t%lld\t%zd\t", name, (long long)offset, done);
    }
    return done;
}

ssize_t write(int descriptor, const void *bytes, size_t length) { return write_at(descriptor, bytes, length, -1); }
ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
    return write_at(descriptor, bytes, length, offset);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
    return write_at(descriptor, bytes, length, offset);
}

static int truncate_to(int descriptor, off_t length) {
    const char *name = opened(descriptor);
    if (name) {
        int code = change(0, NULL);
        if (code) FAIL(code);
    }
    int result = (int)syscall(SYS_ftruncate, descriptor, length);
    if (name && result == 0) record(NULL, 0, "truncate\t%s\t%lld", name, (long long)length);
    return result;
}

int ftruncate(int descriptor, off_t length) { return truncate_to(descriptor, length); }
int ftruncate64(int descriptor, off64_t length) { return truncate_to(descriptor, length); }

static int sync_file(int descriptor, long call) {
    const char *name = opened(descriptor);
    if (name) {
        int code = change(0, NULL);
        if (code) FAIL(code);
    }
    int result = (int)syscall(call, descriptor);
    if (name && result == 0) record(NULL, 0, "sync\t%s", name);
    return result;
}

int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

static int move(const char *what, long call, int needs_room, const char *from, const char *to) {
    const char *name = ours(from), *target = ours(to);
    if (name || target) {
        int code = change(needs_room, NULL);
        if (code) FAIL(code);
    }
    int result = (int)syscall(call, from, to);
    if (result == 0 && name && target) record(NULL, 0, "%s\t%s\t%s", what, name, target);
    return result;
}

int rename(const char *from, const char *to) { return move("rename", SYS_rename, 1, from, to); }
int link(const char *from, const char *to) { return move("link", SYS_link, 1, from, to); }

int unlink(const char *path) {
    const char *name = ours(path);
    struct stat status;
    int counts = name && lstat(path, &status) == 0;
    if (counts) {
        int code = change(0, NULL);
        if (code) FAIL(code);
    }
    int result = (int)syscall(SYS_unlink, path);
    if (counts && result == 0) record(NULL, 0, "unlink\t%s", name);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    const char *name = ours(path);
    struct stat status;
    int counts = name && lstat(path, &status) != 0;
    if (counts) {
        int code = change(1, NULL);
        if (code) FAIL(code);
    }
    int result = (int)syscall(SYS_mkdir, path, mode);
    if (counts && result == 0) record(NULL, 0, "mkdir\t%s", name);
    return result;
}

static int read_fails(int descriptor) {
    if (!opened(descriptor)) return 0;
    pthread_mutex_lock(&lock);
    long n = ++read_count;
    pthread_mutex_unlock(&lock);
    return read_at && n == read_at;
}

ssize_t read(int descriptor, void *bytes, size_t length) {
    if (read_fails(descriptor)) FAIL(EIO);
    return syscall(SYS_read, descriptor, bytes, length);
}
ssize_t pread(int descriptor, void *bytes, size_t length, off_t offset) {
    if (read_fails(descriptor)) FAIL(EIO);
    return syscall(SYS_pread64, descriptor, bytes, length, offset);
}
ssize_t pread64(int descriptor, void *bytes, size_t length, off64_t offset) {
    if (read_fails(descriptor)) FAIL(EIO);
    return syscall(SYS_pread64, descriptor, bytes, length, offset);
}
