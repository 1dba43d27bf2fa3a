/* Preloaded: writes the address of every connect() to the file that CONNECTS names, then connects. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int connect(int socket, const struct sockaddr *address, socklen_t size) {
    static int (*real)(int, const struct sockaddr *, socklen_t);
    if (!real) real = dlsym(RTLD_NEXT, "connect");
    const char *path = getenv("CONNECTS");
    const void *host = NULL;
    if (address && address->sa_family == AF_INET) host = &((struct sockaddr_in *)address)->sin_addr;
    if (address && address->sa_family == AF_INET6) host = &((struct sockaddr_in6 *)address)->sin6_addr;
    if (path && host) {
        char text[INET6_ADDRSTRLEN] = "?", line[INET6_ADDRSTRLEN + 2];
        inet_ntop(address->sa_family, host, text, sizeof text);
        int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (file >= 0) {
            int written = snprintf(line, sizeof line, "%s\n", text);
            if (write(file, line, written) < 0) abort();
            close(file);
        }
    }
    return real(socket, address, size);
}
