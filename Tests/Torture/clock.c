/*
 * Another clock for a program that knows nothing of it. Preloaded into a program, this library adds CLOCK_OFFSET seconds
 * to the time of day, or lets it stand still at CLOCK_AT. Clocks that only measure durations are left alone, and so are the
 * times of files.
 *
 * libfaketime does more, but it changes the environment of the program, and Swift then finds no arguments.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t offset, at;

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("CLOCK_OFFSET");
    if (text) offset = atol(text);
    text = getenv("CLOCK_AT");
    if (text) at = atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += offset;
        if (at) *now = (struct timespec){.tv_sec = at};
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    int result = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return result;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}
