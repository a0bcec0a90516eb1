/* SPDX-License-Identifier: MIT */
#include "convert/viewer/server.h"

#include "convert/viewer/peer.h"
#include "formats/base/alloc.h"
#include "formats/base/monotonic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 32
#define DRAIN_MOST  (1 << 16)   /* bytes that are read behind a request and thrown away */
#define PIECE       (256 << 10) /* bytes of the profile that one connection sends before the others come in turn */

static const struct server_limits usual_limits = {
    .quiet_ms = 60000, .head_ms = 10000, .stall_ms = 60000, .linger_ms = 5000, .grace_ms = 1000
};

/* A connection has one request. */
enum stage { STAGE_FREE, STAGE_READING, STAGE_SENDING, STAGE_LINGERING };

struct connection {
    enum stage stage;
    int fd;
    int64_t opened_ms, due_ms; /* when the connection came; when it is closed if nothing happens */
    char head[REQUEST_MOST];
    size_t head_size;
    struct answer answer;
    size_t sent;        /* bytes of answer.bytes */
    off_t profile_sent; /* bytes of the profile */
    size_t drained;     /* bytes behind the request */
};

struct serving {
    const struct server *server;
    const struct site *site;
    int profile_fd;
    struct connection connections[CONNECTIONS];
    bool fetched;
    int64_t over_ms; /* when the grace time ends */
};

static volatile sig_atomic_t stopped, child_ended; /* the number of the signal that stops us */

static void note_signal(int number)
{
    if (number == SIGCHLD)
        child_ended = 1;
    else if (number != SIGPIPE)
        stopped = number;
}

static int64_t now_ms(void)
{
    return monotonic_ns() / 1000000;
}

/* ---- open and close ---- */

static bool make_token(char *token, struct fault *why)
{
    unsigned char bytes[SERVER_TOKEN_SIZE / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return fault(why, "cannot get random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool listen_here(struct server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    if (server->fd < 0 || bind(server->fd, (struct sockaddr *)&address, size) != 0 ||
        listen(server->fd, CONNECTIONS) != 0 || getsockname(server->fd, (struct sockaddr *)&address, &size) != 0)
        return false;
    server->port = ntohs(address.sin_port);
    return true;
}

static const int signals_taken[SERVER_SIGNALS] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE };

/* Takes the signals, which then come only while the server waits. A signal that is ignored stays ignored. */
static void take_signals(struct server *server)
{
    const struct sigaction action = { .sa_handler = note_signal };
    sigset_t taken;
    sigemptyset(&taken);
    stopped = child_ended = 0;
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        if (signals_taken[i] != SIGPIPE) /* sendfile() makes it, and fails as well */
            sigaddset(&taken, signals_taken[i]);
    sigprocmask(SIG_BLOCK, &taken, &server->mask);
    for (size_t i = 0; i < SERVER_SIGNALS; i++) {
        sigaction(signals_taken[i], NULL, &server->actions[i]);
        if (server->actions[i].sa_handler != SIG_IGN || signals_taken[i] == SIGCHLD)
            sigaction(signals_taken[i], &action, NULL);
    }
}

static void give_back_signals(const struct server *server)
{
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        sigaction(signals_taken[i], &server->actions[i], NULL);
    sigprocmask(SIG_SETMASK, &server->mask, NULL);
}

void server_close(struct server *server)
{
    if (!server->open)
        return;
    if (server->fd >= 0)
        close(server->fd);
    give_back_signals(server);
    *server = (struct server){ 0 };
}

bool server_open(struct server *server, struct fault *why)
{
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    take_signals(server);
    server->open = true;
    server->limits = usual_limits;
    if (make_token(server->token, why) && listen_here(server))
        return true;
    fault(why, "cannot listen on 127.0.0.1: %s", strerror(errno));
    server_close(server);
    return false;
}

/* ---- connections ---- */

static void server_drop(struct connection *connection)
{
    if (connection->stage == STAGE_FREE)
        return;
    close(connection->fd);
    bytes_free(&connection->answer.bytes);
    connection->stage = STAGE_FREE;
}

/* Counts the profile as fetched, and waits once more for a second visitor. */
static void note_fetched(struct serving *serving)
{
    serving->fetched = true;
    serving->over_ms = now_ms() + serving->server->limits.grace_ms;
}

static void begin_answer(struct serving *serving, struct connection *connection, enum request_state state,
                         const struct request *request)
{
    connection->answer = answer_to(serving->site, state, request);
    connection->stage = STAGE_SENDING;
    connection->due_ms = now_ms() + serving->server->limits.stall_ms;
}

static void read_request(struct serving *serving, struct connection *connection)
{
    struct request request;
    const ssize_t got = recv(connection->fd, connection->head + connection->head_size,
                             REQUEST_MOST - connection->head_size, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        server_drop(connection);
        return;
    }
    if (connection->head_size == 0)
        connection->due_ms = now_ms() + serving->server->limits.head_ms;
    connection->head_size += (size_t)got;
    const enum request_state state = request_parse((struct text){ connection->head, connection->head_size }, &request);
    if (state != REQUEST_PARTIAL)
        begin_answer(serving, connection, state, &request);
}

/* Sends what the reader takes now. Returns the number of bytes, 0 when there is nothing left, -1 when the reader is
 * gone, or the profile is shorter than it was. */
static ssize_t send_some(const struct serving *serving, struct connection *connection)
{
    const struct bytes *bytes = &connection->answer.bytes;
    if (connection->sent < bytes->size) {
        const ssize_t sent = send(connection->fd, bytes->at + connection->sent, bytes->size - connection->sent,
                                  MSG_NOSIGNAL);
        connection->sent += sent > 0 ? (size_t)sent : 0;
        return sent;
    }
    const uint64_t left = connection->answer.profile ? serving->site->size - (uint64_t)connection->profile_sent : 0;
    if (left == 0)
        return 0;
    const ssize_t sent = sendfile(connection->fd, serving->profile_fd, &connection->profile_sent,
                                  left < PIECE ? left : PIECE);
    errno = sent == 0 ? ENODATA : errno;
    return sent == 0 ? -1 : sent;
}

static void send_answer(struct serving *serving, struct connection *connection)
{
    const ssize_t sent = send_some(serving, connection);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (sent < 0) {
        server_drop(connection);
        return;
    }
    connection->due_ms = now_ms() + serving->server->limits.stall_ms;
    if (sent > 0)
        return;
    shutdown(connection->fd, SHUT_WR);
    connection->stage = STAGE_LINGERING;
    connection->due_ms = now_ms() + serving->server->limits.linger_ms;
}

/* Waits until the reader closes the connection, having read everything: a reader that is gone before leaves an error.
 * What the reader sends meanwhile is thrown away. */
static void linger(struct serving *serving, struct connection *connection)
{
    char thrown_away[4096];
    const ssize_t got = recv(connection->fd, thrown_away, sizeof(thrown_away), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got == 0 && connection->answer.profile)
        note_fetched(serving);
    connection->drained += got > 0 ? (size_t)got : 0;
    if (got <= 0 || connection->drained > DRAIN_MOST)
        server_drop(connection);
}

static void server_go_on(struct serving *serving, struct connection *connection)
{
    switch (connection->stage) {
    case STAGE_FREE:
        break;
    case STAGE_READING:
        read_request(serving, connection);
        break;
    case STAGE_SENDING:
        send_answer(serving, connection);
        break;
    case STAGE_LINGERING:
        linger(serving, connection);
        break;
    }
}

/* Ends a connection whose time is over. A reader that has taken everything, and only keeps the connection open, has
 * fetched the profile. */
static void end_late(struct serving *serving, struct connection *connection)
{
    int waiting = 1;
    if (connection->stage == STAGE_LINGERING && connection->answer.profile &&
        ioctl(connection->fd, SIOCOUTQ, &waiting) == 0 && waiting == 0)
        note_fetched(serving);
    server_drop(connection);
}

/* ---- the loop ---- */

/* A place for a new connection: a free one, or that of the connection that has asked for nothing for longest. NULL: all
 * are at work. */
static struct connection *place_for_new(struct serving *serving)
{
    struct connection *oldest = NULL;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *connection = &serving->connections[i];
        if (connection->stage == STAGE_FREE)
            return connection;
        if (connection->stage == STAGE_READING && (!oldest || connection->opened_ms < oldest->opened_ms))
            oldest = connection;
    }
    return oldest;
}

/* The next connection; -1: there is none, or it is of another user. */
static int accept_next(const struct server *server)
{
    struct sockaddr_in peer = { 0 };
    socklen_t size = sizeof(peer);
    const int fd = accept4(server->fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 || peer_is_ours(ntohs(peer.sin_port), server->port))
        return fd;
    close(fd);
    return -1;
}

static void take_connection(struct serving *serving)
{
    struct connection *connection = place_for_new(serving);
    const int fd = connection ? accept_next(serving->server) : -1;
    if (fd < 0)
        return;
    server_drop(connection);
    const int64_t now = now_ms();
    *connection = (struct connection){
        .stage = STAGE_READING, .fd = fd, .opened_ms = now, .due_ms = now + serving->server->limits.quiet_ms
    };
}

static bool is_busy(const struct serving *serving)
{
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (serving->connections[i].stage >= STAGE_SENDING)
            return true;
    return false;
}

/* Ends what is late. Returns how long nothing happens by itself, in milliseconds; -1: for ever. */
static int64_t end_all_late(struct serving *serving)
{
    const int64_t now = now_ms();
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *connection = &serving->connections[i];
        if (connection->stage != STAGE_FREE && connection->due_ms <= now)
            end_late(serving, connection);
        if (connection->stage != STAGE_FREE && connection->due_ms < next)
            next = connection->due_ms;
    }
    if (serving->fetched && serving->over_ms < next)
        next = serving->over_ms;
    return next == INT64_MAX ? -1 : next > now ? next - now : 0;
}

/* Waits for a connection, a request, a reader or a signal. False: it cannot wait. */
static bool wait_for_more(struct serving *serving, const sigset_t *signals)
{
    struct pollfd polled[1 + CONNECTIONS];
    const int64_t pause_ms = end_all_late(serving);
    const struct timespec pause = { .tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000 };
    polled[0] = (struct pollfd){ .fd = place_for_new(serving) ? serving->server->fd : -1, .events = POLLIN };
    for (size_t i = 0; i < CONNECTIONS; i++) {
        const struct connection *connection = &serving->connections[i];
        polled[1 + i] = (struct pollfd){ .fd = connection->stage == STAGE_FREE ? -1 : connection->fd,
                                         .events = connection->stage == STAGE_SENDING ? POLLOUT : POLLIN };
    }
    if (ppoll(polled, countof(polled), pause_ms < 0 ? NULL : &pause, signals) < 0)
        return errno == EINTR;
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (polled[1 + i].revents)
            server_go_on(serving, &serving->connections[i]);
    if (polled[0].revents)
        take_connection(serving);
    return true;
}

enum server_end server_run(struct server *server, const struct site *site, int profile_fd,
                           const struct server_hook *hook, int *number, struct fault *why)
{
    struct serving *serving = alloc_zeroed(1, sizeof(*serving));
    bool good = true;
    serving->server = server;
    serving->site = site;
    serving->profile_fd = profile_fd;
    child_ended = 1; /* the child may have ended before */
    while (good && !stopped && !(serving->fetched && now_ms() >= serving->over_ms && !is_busy(serving))) {
        if (child_ended) {
            child_ended = 0;
            hook->child_ended(hook->self);
        }
        good = wait_for_more(serving, &server->mask) || fault(why, "cannot wait for a browser: %s", strerror(errno));
    }
    const bool fetched = serving->fetched;
    *number = stopped;
    for (size_t i = 0; i < CONNECTIONS; i++)
        server_drop(&serving->connections[i]);
    free(serving);
    return !good ? SERVER_FAILED : fetched ? SERVER_FETCHED : SERVER_INTERRUPTED;
}
