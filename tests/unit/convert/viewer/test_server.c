/* SPDX-License-Identifier: MIT */
/* Connections that take too long. The server runs in a process of its own, with limits that are short. What the server
 * answers is for test_answer.c, and how browsers get along with the server is for tests/e2e/outputs/test_show.py. */
#include "convert/viewer/server.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE  (64 << 20) /* bytes, more than sockets hold */
#define ORIGIN "https://profiler.firefox.com"

struct running {
    struct server server;
    pid_t process;
};

static void ignore(void *self)
{
    (void)self;
}

static void run(struct server *server, int profile_fd)
{
    const struct site site = {
        .token = server->token, .port = server->port, .origin = ORIGIN, .by_url = "", .by_page = "", .size = LARGE
    };
    const struct server_hook hook = { .child_ended = ignore };
    struct fault why = { 0 };
    int number = 0;
    _exit(server_run(server, &site, profile_fd, &hook, &number, &why));
}

static struct running start(struct server_limits limits)
{
    struct running running = { 0 };
    struct fault why = { 0 };
    const int profile_fd = memfd_create("profile", MFD_CLOEXEC);
    assert_int_equal(ftruncate(profile_fd, LARGE), 0);
    assert_true(server_open(&running.server, &why));
    running.server.limits = limits;
    running.process = fork();
    if (running.process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(&running.server, profile_fd);
    }
    close(profile_fd);
    return running;
}

/* Waits for the end of the server, and returns its exit code, how the server ended. */
static int end(struct running *running)
{
    int status = 0;
    assert_int_equal(waitpid(running->process, &status, 0), running->process);
    server_close(&running->server);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void stop(struct running *running, int exit_code)
{
    kill(running->process, SIGTERM);
    assert_int_equal(end(running), exit_code);
}

static int connect_to(const struct running *running)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)running->server.port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void say(int fd, const char *words)
{
    assert_int_equal(send(fd, words, strlen(words), MSG_NOSIGNAL), strlen(words));
}

static void ask_for_profile(const struct running *running, int fd)
{
    char request[256];
    snprintf(request, sizeof(request),
             "GET /%s/profile.json HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nOrigin: " ORIGIN "\r\n\r\n", running->server.token,
             running->server.port);
    say(fd, request);
}

/* Reads to the end. Returns the number of bytes; the connection may be cut. */
static size_t read_all(int fd)
{
    char *bytes = alloc_zeroed(1 << 20, 1);
    size_t size = 0;
    for (ssize_t got; (got = recv(fd, bytes, 1 << 20, 0)) > 0;)
        size += (size_t)got;
    free(bytes);
    return size;
}

#define NEVER 600000

static void who_says_nothing_is_dropped(void **state)
{
    (void)state;
    struct running running = start((struct server_limits){ 100, NEVER, NEVER, NEVER, NEVER });
    const int fd = connect_to(&running);
    assert_int_equal(read_all(fd), 0);
    close(fd);
    stop(&running, SERVER_INTERRUPTED);
}

static void who_asks_slowly_is_dropped(void **state)
{
    (void)state;
    struct running running = start((struct server_limits){ NEVER, 100, NEVER, NEVER, NEVER });
    const int fd = connect_to(&running);
    say(fd, "GET / HTTP/1.1\r\n");
    assert_int_equal(read_all(fd), 0);
    close(fd);
    stop(&running, SERVER_INTERRUPTED);
}

/* Waits until what came no longer grows: the server sends nothing more until somebody reads. */
static void wait_until_full(int fd)
{
    char *bytes = alloc_zeroed(LARGE, 1);
    for (ssize_t before = -1, now = 0; now != before || now == 0; usleep(50000)) {
        before = now;
        now = recv(fd, bytes, LARGE, MSG_PEEK | MSG_DONTWAIT);
    }
    free(bytes);
}

/* Whether the server has the other end of the connection open. */
static bool is_served(const struct running *running, int fd)
{
    struct sockaddr_in ours;
    socklen_t size = sizeof(ours);
    char line[256];
    bool served = false;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&ours, &size), 0);
    FILE *file = fopen("/proc/net/tcp", "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        unsigned from, to, state;
        if (sscanf(line, "%*u: %*x:%x %*x:%x %x", &from, &to, &state) == 3)
            served |= from == running->server.port && to == ntohs(ours.sin_port) && state == TCP_ESTABLISHED;
    }
    fclose(file);
    return served;
}

static bool gets_everything(const struct running *running)
{
    const int fd = connect_to(running);
    ask_for_profile(running, fd);
    const size_t size = read_all(fd);
    close(fd);
    return size > LARGE; /* the head, too */
}

static void who_reads_nothing_is_dropped(void **state)
{
    (void)state;
    struct running running = start((struct server_limits){ NEVER, NEVER, 200, NEVER, NEVER });
    const int fd = connect_to(&running);
    ask_for_profile(&running, fd);
    wait_until_full(fd);
    wait_until(!is_served(&running, fd));
    assert_true(read_all(fd) < LARGE); /* what was on its way */
    close(fd);
    wait_until(gets_everything(&running)); /* on a busy machine we may be slow, too */
    stop(&running, SERVER_FETCHED);
}

/* Some readers keep the connection when they have everything. */
static void who_has_everything_and_stays_has_fetched_the_profile(void **state)
{
    (void)state;
    struct running running = start((struct server_limits){ NEVER, NEVER, NEVER, 100, 100 });
    const int fd = connect_to(&running);
    ask_for_profile(&running, fd);
    assert_true(read_all(fd) > LARGE);
    assert_int_equal(end(&running), SERVER_FETCHED);
    close(fd);
}

static void who_talks_on_is_dropped(void **state)
{
    (void)state;
    struct running running = start((struct server_limits){ NEVER, NEVER, NEVER, NEVER, NEVER });
    static const char words[4096] = { 'x' };
    const int fd = connect_to(&running);
    say(fd, "GET / HTTP/1.1\r\n\r\n");
    ssize_t sent;
    do
        sent = send(fd, words, sizeof(words), MSG_NOSIGNAL);
    while (sent > 0);
    assert_true(errno == ECONNRESET || errno == EPIPE);
    close(fd);
    stop(&running, SERVER_INTERRUPTED);
}

TEST_FILE(server)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_says_nothing_is_dropped),
        cmocka_unit_test(who_asks_slowly_is_dropped),
        cmocka_unit_test(who_reads_nothing_is_dropped),
        cmocka_unit_test(who_has_everything_and_stays_has_fetched_the_profile),
        cmocka_unit_test(who_talks_on_is_dropped),
    };
    alarm(2 * PATIENCE_S); /* a connection that stays */
    return run_all(tests);
}
