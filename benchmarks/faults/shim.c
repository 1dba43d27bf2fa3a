/* Lets the n-th call that changes a disk below a folder fail, or ends the process there. Loaded with LD_PRELOAD.

   action > 0: this errno, once. action < -1: the errno -action, from the n-th call on. action == -1: the process ends.
   A write that fails has written half of its bytes before. n == 0 only counts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[4096];
static size_t root_length;
static long wanted, seen;
static int action;
static char last[256];

void fault_arm(const char *folder, long n, int what) {
    strncpy(root, folder, sizeof root - 1);
    root_length = strlen(root);
    wanted = n, seen = 0, action = what, last[0] = 0;
}
void fault_disarm(void) { root_length = 0; }
long fault_seen(void) { return seen; }
const char *fault_last(void) { return last; }

static int below(const char *path) { return root_length && path && strncmp(path, root, root_length) == 0; }

static int below_fd(int fd) {
    char link[64], path[4096];
    if (!root_length) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return below(path);
}

/* The errno of this call, 0 to let it pass. */
static int fault(const char *name, int is_ours) {
    if (!is_ours) return 0;
    seen++;
    if (!wanted || seen < wanted || (seen > wanted && action >= -1)) return 0;
    if (seen == wanted) strncpy(last, name, sizeof last - 1);
    if (action == -1) _exit(99);
    int number = action > 0 ? action : -action;
    if (number == ENOSPC && (!strcmp(name, "unlink") || !strcmp(name, "rmdir"))) return 0; /* removing needs no room */
    return number;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAIL_IF(name, ours) do { int e = fault(name, ours); if (e) { errno = e; return -1; } } while (0)

ssize_t write(int fd, const void *data, size_t n) {
    REAL(write);
    int e = fault("write", below_fd(fd));
    if (e) { if (n > 1) real(fd, data, n / 2); errno = e; return -1; }
    return real(fd, data, n);
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    REAL(pwrite);
    int e = fault("pwrite", below_fd(fd));
    if (e) { if (n > 1) real(fd, data, n / 2, at); errno = e; return -1; }
    return real(fd, data, n, at);
}
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) {
    REAL(pwrite64);
    int e = fault("pwrite", below_fd(fd));
    if (e) { if (n > 1) real(fd, data, n / 2, at); errno = e; return -1; }
    return real(fd, data, n, at);
}
ssize_t writev(int fd, const struct iovec *parts, int n) {
    REAL(writev);
    FAIL_IF("writev", below_fd(fd));
    return real(fd, parts, n);
}
int fsync(int fd) { REAL(fsync); FAIL_IF("fsync", below_fd(fd)); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); FAIL_IF("fdatasync", below_fd(fd)); return real(fd); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); FAIL_IF("ftruncate", below_fd(fd)); return real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); FAIL_IF("ftruncate", below_fd(fd)); return real(fd, n); }
int rename(const char *a, const char *b) { REAL(rename); FAIL_IF("rename", below(a) || below(b)); return real(a, b); }
int renameat(int d, const char *a, int f, const char *b) {
    REAL(renameat);
    FAIL_IF("rename", below(a) || below(b));
    return real(d, a, f, b);
}
int mkdir(const char *path, mode_t mode) { REAL(mkdir); FAIL_IF("mkdir", below(path)); return real(path, mode); }
int mkdirat(int d, const char *path, mode_t mode) {
    REAL(mkdirat);
    FAIL_IF("mkdir", below(path));
    return real(d, path, mode);
}
int unlink(const char *path) { REAL(unlink); FAIL_IF("unlink", below(path)); return real(path); }
int rmdir(const char *path) { REAL(rmdir); FAIL_IF("rmdir", below(path)); return real(path); }

#define OPEN(name)                                                            \
    int name(const char *path, int flags, ...) {                              \
        REAL(name);                                                           \
        va_list rest;                                                         \
        va_start(rest, flags);                                                \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                         \
        FAIL_IF("create", (flags & O_CREAT) && below(path));                  \
        return real(path, flags, mode);                                       \
    }
OPEN(open)
OPEN(open64)
#define OPENAT(name)                                                          \
    int name(int folder, const char *path, int flags, ...) {                  \
        REAL(name);                                                           \
        va_list rest;                                                         \
        va_start(rest, flags);                                                \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                         \
        FAIL_IF("create", (flags & O_CREAT) && below(path));                  \
        return real(folder, path, flags, mode);                               \
    }
OPENAT(openat)
OPENAT(openat64)
